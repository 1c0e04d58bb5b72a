import java.util.Scanner;

public class Main {
    public static void main(String[] args) {
        Scanner input = new Scanner(System.in);
        long sum = 0;
        while (input.hasNextLong()) sum += input.nextLong();
        System.out.println(sum);
    }
}
