#include <iostream>
int main() {
    for (int i = 0; i < 200000; i++) std::cout << "0123456789\n";
}
