import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.util.Arrays;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.server.NIOServerCnxnFactory;
import org.apache.zookeeper.server.ZooKeeperServer;

/** A server and a client of ZooKeeper. */
final class Zookeeper {
  private static final int NODES = 500;

  public static void main(String[] args) throws Exception {
    var files = Files.createTempDirectory("zookeeper").toFile();
    NIOServerCnxnFactory factory = new NIOServerCnxnFactory();
    factory.configure(new InetSocketAddress(Traffic.server(), 0), 60);
    factory.startup(new ZooKeeperServer(files, files, 2000));
    String server = Traffic.server().getHostAddress() + ":" + factory.getLocalPort();
    byte[] data = Arrays.copyOf(Traffic.BODY, 1000);
    try (ZooKeeper client = new ZooKeeper(server, 60_000, event -> {})) {
      for (int i = 0; i < NODES; i++) {
        client.create("/n" + i, data, ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
        if (!Arrays.equals(data, client.getData("/n" + i, false, null))) {
          throw new AssertionError("other data has arrived");
        }
      }
    }
    System.out.println(NODES + " nodes created and read");
    Traffic.besides();
    factory.shutdown();
  }
}
