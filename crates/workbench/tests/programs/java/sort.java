import java.util.Arrays;
import java.util.Scanner;

public class Main {
    public static void main(String[] args) {
        Scanner input = new Scanner(System.in);
        int[] numbers = new int[input.nextInt()];
        for (int i = 0; i < numbers.length; i++) numbers[i] = input.nextInt();
        Arrays.sort(numbers);
        StringBuilder text = new StringBuilder();
        for (int number : numbers) text.append(number).append("\n");
        System.out.print(text);
    }
}
