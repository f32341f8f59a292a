package dev.verbena.samples;

import dev.verbena.cm.Listener;
import dev.verbena.messages.Connection;
import dev.verbena.values.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.RemoteMemory;
import java.net.InetSocketAddress;

public class FirstConnection {
  public static void main(String[] args) throws Exception {
    switch (args.length == 2 ? args[0] : "") {
      case "server" -> serve(new InetSocketAddress(args[1], 7471));
      case "client" -> visit(new InetSocketAddress(args[1], 7471));
      default -> System.out.println("Usage: FirstConnection server|client ADDRESS");
    }
  }

  static void serve(InetSocketAddress address) throws Exception {
    try (Listener listener = Listener.open(address);
        Connection client = Connection.accept(listener)) {
      MemoryRegion board =
          client.domain().allocateMemory(4096, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
      client.send(RemoteMemory.of(board).toBytes());
      client.receive(); // the client has written
      System.out.println(board.memory().getString(0));
    }
  }

  static void visit(InetSocketAddress address) throws Exception {
    try (Connection server = Connection.connect(address)) {
      RemoteMemory board = RemoteMemory.fromBytes(server.receive());
      MemoryRegion own = server.domain().allocateMemory(4096, AccessFlag.LOCAL_WRITE);
      own.memory().setString(0, "Hello from the client's memory");
      server.write(own, 0, 4096, board, 0);
      server.send(new byte[0]);
    }
  }
}
