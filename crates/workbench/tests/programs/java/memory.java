import java.util.ArrayList;
import java.util.List;

public class Main {
    public static void main(String[] args) {
        List<byte[]> parts = new ArrayList<>();
        for (int i = 0; i < 1024; i++) parts.add(new byte[1 << 20]);
        System.out.println(parts.size());
    }
}
