public class Main {
    public static void main(String[] args) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < 200000; i++) text.append("0123456789\n");
        System.out.print(text);
    }
}
