parts = []
for number in range(1024):
    parts.append(bytearray([number % 255 + 1]) * (1 << 20))
print(len(parts))
