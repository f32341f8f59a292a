package dev.verbena.messages;

import dev.verbena.messages.Ends.Place;
import dev.verbena.soft.SoftNetwork;
import dev.verbena.testing.Await;
import dev.verbena.testing.Program;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/** A server or a client of requests in a JVM of its own, which does what the other end says. */
final class RequestProcess implements AutoCloseable {
  static final int SERVICE = 7494;

  /** The byte of a request or of an answer that says nothing. */
  static final byte GO_ON = 0;

  /** Says that the process ends without closing, or closes. */
  static final byte END = 1;

  static final byte CLOSE = 2;

  private static final String READY = "ready";

  /** In the process of a server: it is told to close. */
  private static final CountDownLatch CLOSING = new CountDownLatch(1);

  private final Program program;

  private RequestProcess(Program program) {
    this.program = program;
  }

  static ConnectionSettings settings(Place place) {
    return place
        .settings
        .withSends(4)
        .withMessageSize(64)
        .withTimeout(Await.LIMIT)
        .withKeepAlive(place.keepAlive);
  }

  /**
   * Starts a server, or a client that calls without end.
   *
   * @param local the address of its device
   * @param udpPort the port of that, over UDP; 0 for a device of this host
   * @param server the address of the server; that of the device for a server
   */
  static RequestProcess start(Place place, InetAddress local, int udpPort, InetAddress server)
      throws Exception {
    Program program =
        Program.start(
            Program.java(
                RequestProcess.class,
                place.name(),
                local.getHostAddress(),
                "" + udpPort,
                server.getHostAddress()));
    program.says(READY);
    return new RequestProcess(program);
  }

  public static void main(String[] args) throws Exception {
    Place place = Place.valueOf(args[0]);
    InetAddress local = InetAddress.getByName(args[1]);
    int udpPort = Integer.parseInt(args[2]);
    InetAddress server = InetAddress.getByName(args[3]);
    if (udpPort == 0) {
      live(place, local, server);
    } else {
      SoftNetwork.overUdp(new InetSocketAddress(local, udpPort))
          .call(
              () -> {
                live(place, local, server);
                return null;
              });
    }
  }

  private static void live(Place place, InetAddress local, InetAddress server)
      throws InterruptedException {
    if (local.equals(server)) {
      serve(place, server);
    } else {
      call(place, local, server);
    }
    Await.pass(Duration.ofDays(1), "until it is killed");
  }

  private static void serve(Place place, InetAddress address) throws InterruptedException {
    RequestServer server =
        RequestServer.builder(
                new InetSocketAddress(address, SERVICE),
                request -> {
                  if (obey(request.bytes().get(ValueLayout.JAVA_BYTE, 0))) {
                    CLOSING.countDown();
                  }
                  request.answer(request.bytes());
                })
            .settings(settings(place))
            .open()
            .start();
    System.out.println(READY);
    CLOSING.await();
    server.close();
  }

  private static void call(Place place, InetAddress local, InetAddress server)
      throws InterruptedException {
    RequestClient client =
        RequestClient.connect(
            new InetSocketAddress(server, SERVICE),
            settings(place).withLocalAddress(new InetSocketAddress(local, 0)));
    System.out.println(READY);
    while (!obey(client.call(new byte[1], Await.LIMIT)[0])) {
      Thread.onSpinWait();
    }
    client.close();
  }

  /** Returns whether to close. */
  private static boolean obey(byte order) {
    if (order == END) {
      System.exit(0);
    }
    return order == CLOSE;
  }

  void kill() throws InterruptedException {
    program.kill();
  }

  /** SIGSTOP, after which it is killed only. */
  void stop() throws Exception {
    try (Program kill = Program.start(List.of("kill", "-STOP", "" + program.process().pid()))) {
      var _ = kill.endsWell();
    }
  }

  @Override
  public void close() {
    try {
      program.close();
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }
}
