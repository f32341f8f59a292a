import dev.verbena.cm.Listener;
import dev.verbena.messages.Connection;
import dev.verbena.values.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.RemoteMemory;
import java.net.InetSocketAddress;

/**
 * RDMA CM: accepts one CmClient, which writes to the memory of this program.
 *
 * <p>{@code java --enable-native-access=ALL-UNNAMED -cp verbena.jar CmServer.java}
 */
public class CmServer {
  public static void main(String[] args) throws InterruptedException {
    if (args.length != 1) {
      System.out.println("Usage: CmServer ADDRESS");
      return;
    }
    try (Listener listener = Listener.open(new InetSocketAddress(args[0], 7472));
        Connection client = Connection.accept(listener)) {
      MemoryRegion memory =
          client.domain().allocateMemory(4096, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
      client.send(RemoteMemory.of(memory).toBytes());
      client.receive(); // the client has written
      System.out.println(memory.memory().getString(0));
    }
  }
}
