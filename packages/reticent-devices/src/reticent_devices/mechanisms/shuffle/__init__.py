"""The shuffled sum of bounded vectors: how much noise its users add (`calibration`, and as published in `paper`). The
users' part is reticent_devices.roles.shuffle, the shuffler's reticent_devices.roles.shuffler, and the server's
reticent_devices.roles.analyzer."""
