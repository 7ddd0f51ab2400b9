# Written by `make client` from the file of the same name in _async.
