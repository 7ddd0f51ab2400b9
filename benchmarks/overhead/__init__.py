"""What a generation costs this process beyond its models."""
