import dev.verbena.messages.Connection;
import dev.verbena.values.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.RemoteMemory;
import java.net.InetSocketAddress;

/**
 * RDMA CM: connects to CmServer by its IP address, and writes to its memory.
 *
 * <p>{@code java --enable-native-access=ALL-UNNAMED -cp verbena.jar CmClient.java}
 */
public class CmClient {
  public static void main(String[] args) throws InterruptedException {
    if (args.length != 1) {
      System.out.println("Usage: CmClient SERVER_ADDRESS");
      return;
    }
    try (Connection server = Connection.connect(new InetSocketAddress(args[0], 7472))) {
      RemoteMemory target = RemoteMemory.fromBytes(server.receive());
      MemoryRegion source = server.domain().allocateMemory(4096, AccessFlag.LOCAL_WRITE);
      source.memory().setString(0, "from the client");
      server.write(source, 0, 64, target, 0);
      server.send(new byte[0]);
    }
  }
}
