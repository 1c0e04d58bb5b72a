for _ in range(200_000):
    print("0123456789")
