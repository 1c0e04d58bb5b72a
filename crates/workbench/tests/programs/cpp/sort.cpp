#include <algorithm>
#include <iostream>
#include <vector>
int main() {
    int count;
    std::cin >> count;
    std::vector<int> numbers(count);
    for (int &number : numbers) std::cin >> number;
    std::sort(numbers.begin(), numbers.end());
    for (int number : numbers) std::cout << number << "\n";
}
