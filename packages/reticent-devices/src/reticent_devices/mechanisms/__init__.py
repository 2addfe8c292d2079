"""The only code of devices that opens what is raw: it adds the noise before anything leaves."""
