"""What lies between a person and a server: the device (numpy and the standard library, and cryptography to seal
reports), the shuffler, and the bytes that they exchange.

client = Client(billboard)     # reticent_devices.roles.shuffle or reticent_devices.roles.local; billboard: the public
document choice = client.choose(arms)
report = client.randomize(choice, reward)
"""
