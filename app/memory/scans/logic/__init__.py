"""Pure decisions of scans."""
