import dev.verbena.cm.Listener;
import dev.verbena.messages.Connection;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * RDMA CM with virtual threads: a server with one thread for each of three clients.
 *
 * <p>{@code java --enable-native-access=ALL-UNNAMED -cp verbena.jar VirtualThreads.java}
 */
public class VirtualThreads {
  private static final int CLIENTS = 3;

  public static void main(String[] args) throws Exception {
    if (args.length != 1) {
      System.out.println("Usage: VirtualThreads ADDRESS");
      return;
    }
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
        Listener listener = Listener.open(new InetSocketAddress(args[0], 0))) {
      threads.submit(() -> serve(listener, threads));
      InetSocketAddress address = new InetSocketAddress(args[0], listener.port());
      List<Future<Integer>> lengths = new ArrayList<>();
      for (int i = 0; i < CLIENTS; i++) {
        byte[] message = new byte[i + 1];
        lengths.add(threads.submit(() -> lengthOf(message, address)));
      }
      int sum = 0;
      for (Future<Integer> length : lengths) {
        sum += length.get();
      }
      System.out.println(sum + " bytes");
    } // closes the listener first, which ends the wait for clients
  }

  private static Void serve(Listener listener, ExecutorService threads) throws Exception {
    for (int i = 0; i < CLIENTS; i++) {
      Connection client = Connection.accept(listener);
      threads.submit(() -> answer(client));
    }
    return null;
  }

  private static int lengthOf(byte[] message, InetSocketAddress address) throws Exception {
    try (Connection server = Connection.connect(address)) {
      server.send(message);
      return server.receive().length; // the virtual thread waits, its carrier does not
    }
  }

  private static int answer(Connection client) throws Exception {
    try (client) {
      byte[] message = client.receive();
      client.send(message);
      return 0;
    }
  }
}
