public class Main {
    public static void main(String[] args) {
        long number = 0;
        while (number >= 0 || number < 0) number++;
    }
}
