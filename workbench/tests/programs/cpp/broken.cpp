int main() { return zero }
