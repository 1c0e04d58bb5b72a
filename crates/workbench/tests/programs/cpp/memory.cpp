#include <vector>
int main() {
    std::vector<std::vector<char>> parts;
    for (int i = 0; i < 1024; i++) parts.emplace_back(1 << 20, static_cast<char>(i + 1));
    return parts.back().back() == 0;
}
