package dev.verbena.aeron;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.address.Gid;
import dev.verbena.address.QueuePairAddress;
import dev.verbena.verbs.AddressHandle;
import io.aeron.ExclusivePublication;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Frames of somebody who lies, repeats, or makes noise. */
class HostileFramesTest {
  private final String endpoint = Hosts.endpoint(Hosts.B);
  private final String channel = "aeron:udp?endpoint=" + endpoint;
  private final InetSocketAddress subscriberSocket = address(endpoint);
  private final Hosts hosts = new Hosts();
  private final Node publisher = hosts.start();
  private final Node subscriber = hosts.start();
  private final RendezvousFrame frame = new RendezvousFrame();
  private DatagramChannel socket;

  /** Who has sent the last HELLO that was answered. */
  private InetSocketAddress greeting;

  private Stream stream;

  @BeforeEach
  void connect() throws IOException {
    socket = open(new InetSocketAddress(Hosts.address(Hosts.B), 0));
    stream = new Stream(hosts, publisher.publish(channel), subscriber.subscribe(channel)).connect();
    hosts.until(() -> publisher.count("RDMA sender: ", "paths by RDMA") == 1);
    stream.exchange(10);
  }

  private static InetSocketAddress address(String endpoint) {
    int port = Integer.parseInt(endpoint.substring(endpoint.lastIndexOf(':') + 1));
    return new InetSocketAddress(Hosts.address(Hosts.B), port);
  }

  private static DatagramChannel open(InetSocketAddress address) throws IOException {
    DatagramChannel socket = DatagramChannel.open();
    socket.bind(address);
    socket.configureBlocking(false);
    return socket;
  }

  @AfterEach
  void close() throws IOException {
    socket.close();
    hosts.close();
  }

  private void assertUnharmed() {
    long udp = publisher.count("RDMA sender: ", "sent by UDP");
    assertPathsAreUnharmed();
    assertEquals(udp, publisher.count("RDMA sender: ", "sent by UDP"));
  }

  private void assertPathsAreUnharmed() {
    stream.exchange(50);
    assertEquals(0, publisher.count("went back to UDP"));
    assertEquals(0, subscriber.count("went back to UDP"));
    assertEquals(List.of(), publisher.errors);
    assertEquals(List.of(), subscriber.errors);
  }

  private void send(InetSocketAddress to) throws IOException {
    while (socket.send(frame.bytes(), to) == 0) {
      hosts.run();
    }
  }

  /** Returns the next answer, with the drivers running. */
  private RendezvousFrame answer() {
    ByteBuffer answer = ByteBuffer.allocateDirect(2000);
    RendezvousFrame read = new RendezvousFrame();
    hosts.until(
        () -> {
          try {
            answer.clear();
            return socket.receive(answer) != null && read.read(answer, 0, answer.position());
          } catch (IOException e) {
            throw new AssertionError(e);
          }
        });
    return read;
  }

  @Test
  void noiseIsDropped() throws IOException {
    Random random = new Random(1);
    for (int i = 0; i < 2000; i++) {
      frame.set(
          RendezvousFrame.Kind.values()[random.nextInt(5)], random.nextLong(), random.nextInt());
      ByteBuffer bytes = frame.bytes();
      for (int k = random.nextInt(4); k > 0; k--) {
        bytes.put(8 + random.nextInt(72), (byte) random.nextInt());
      }
      bytes.limit(8 + random.nextInt(RendezvousFrame.SIZE - 7));
      int _ = socket.send(bytes, subscriberSocket);
      hosts.run();
    }
    hosts.until(() -> subscriber.count("RDMA receiver: ", "dropped") > 100);
    assertUnharmed();
  }

  @Test
  void aFloodOfHellosLeavesRoomForOthers() throws IOException {
    for (int i = 0; i < 2000; i++) {
      frame.set(RendezvousFrame.Kind.HELLO, i, 1).number(i);
      send(subscriberSocket);
      hosts.run();
    }
    assertUnharmed();
    Node late = hosts.start();
    ExclusivePublication publication = late.publish(channel);
    hosts.until(
        () -> publication.isConnected() && late.count("RDMA sender: ", "paths by RDMA") == 1);
  }

  @Test
  void aMessageCountsOnlyWithTheCookieOfAQueuePairThatWasProbed() throws IOException {
    DatagramQueue queue = queue();
    frame.set(RendezvousFrame.Kind.HELLO, 42, 1).number(queue.number());
    send(subscriberSocket);
    RendezvousFrame welcome = answer();
    assertEquals(RendezvousFrame.Kind.WELCOME, welcome.kind());
    assertEquals(42, welcome.nonce());
    Offer offer = welcome.offer();
    AddressHandle handle = Worker.call(() -> queue.handleTo(offer.address(), 1));

    // Data before the probe, with another cookie, and a probe that is too short.
    ByteBuffer data = ByteBuffer.allocateDirect(RendezvousFrame.SIZE);
    assertDropped(queue, data, handle, offer);
    Offer forged = new Offer(offer.address(), offer.cookie() + 1, offer.maximum());
    assertDropped(queue, frame.set(RendezvousFrame.Kind.PROBE, 1, 1).bytes(), handle, forged);
    ByteBuffer tooShort = frame.set(RendezvousFrame.Kind.PROBE, 1, 1).bytes().limit(40);
    assertDropped(queue, tooShort, handle, offer);
    // By another queue pair.
    DatagramQueue other = queue();
    AddressHandle ofOther = Worker.call(() -> other.handleTo(offer.address(), 1));
    assertDropped(other, frame.set(RendezvousFrame.Kind.PROBE, 1, 1).bytes(), ofOther, offer);

    assertTrue(queue.send(frame.set(RendezvousFrame.Kind.PROBE, 9, 3).bytes(), handle, offer));
    RendezvousFrame probed = answer();
    assertEquals(RendezvousFrame.Kind.PROBED, probed.kind());
    assertEquals(9, probed.nonce());
    assertEquals(3, probed.sequence());

    // What arrives now is for Aeron, which does not know the stream, or finds the frame invalid.
    long dropped = subscriber.count("RDMA receiver: ", "dropped");
    long received = subscriber.count("RDMA receiver: ", "received by RDMA");
    assertTrue(queue.send(data, handle, offer));
    hosts.until(() -> subscriber.count("RDMA receiver: ", "received by RDMA") > received);
    assertEquals(dropped, subscriber.count("RDMA receiver: ", "dropped"));
    assertUnharmed();
    Worker.run(queue::close);
    Worker.run(other::close);
  }

  private void assertDropped(
      DatagramQueue queue, ByteBuffer data, AddressHandle handle, Offer offer) {
    long dropped = subscriber.count("RDMA receiver: ", "dropped");
    assertTrue(queue.send(data, handle, offer));
    hosts.until(() -> subscriber.count("RDMA receiver: ", "dropped") > dropped);
    assertNull(queue.failure());
  }

  private static DatagramQueue queue() {
    return Worker.call(() -> Devices.of(Hosts.address(Hosts.B)).createQueue(16, null));
  }

  /** A peer that answers, and whose answers are wrong. */
  @Test
  void aWelcomeCountsOnlyOnceWithTheNumberThatItAnswers() throws IOException {
    String silent = Hosts.endpoint(Hosts.B);
    ExclusivePublication publication = publisher.publish("aeron:udp?endpoint=" + silent);
    try (DatagramChannel peer = open(address(silent))) {
      DatagramChannel before = socket;
      socket = peer;
      RendezvousFrame hello = new RendezvousFrame();
      InetSocketAddress[] from = new InetSocketAddress[1];
      hosts.until(() -> isHello(peer, hello, from));
      long nonce = hello.nonce();
      int sequence = hello.sequence();
      QueuePairAddress good = QueuePairAddress.of(77, Gid.of(Hosts.address(Hosts.B)));
      QueuePairAddress elsewhere = QueuePairAddress.of(77, Gid.of(Hosts.address(Hosts.A)));

      assertNotWelcomed(from[0], nonce + 1, sequence, good, 4096);
      assertNotWelcomed(from[0], nonce, sequence + 1, good, 4096);
      assertNotWelcomed(from[0], nonce, sequence, elsewhere, 4096);
      assertNotWelcomed(from[0], nonce, sequence, good, 10);
      frame.set(RendezvousFrame.Kind.WELCOME, nonce, sequence); // Without an address.
      assertDroppedByPublisher(from[0]);
      frame.set(RendezvousFrame.Kind.PROBED, nonce, sequence);
      assertDroppedByPublisher(from[0]);

      long dropped = publisher.count("RDMA sender: ", "dropped");
      frame.set(RendezvousFrame.Kind.WELCOME, nonce, sequence).offer(1, 4096, good);
      send(from[0]);
      hosts.until(() -> isHello(peer, hello, from) && hello.sequence() > sequence);
      assertEquals(dropped, publisher.count("RDMA sender: ", "dropped"));
      frame.set(RendezvousFrame.Kind.WELCOME, nonce, sequence).offer(1, 4096, good);
      assertDroppedByPublisher(from[0]); // Again.
      socket = before;
    }
    publication.close();
    assertPathsAreUnharmed();
  }

  /** A peer that answers one probe, and then repeats its answer. */
  @Test
  void anAnswerCountsOnce() throws IOException {
    String silent = Hosts.endpoint(Hosts.B);
    ExclusivePublication publication = publisher.publish("aeron:udp?endpoint=" + silent);
    long before = paths();
    DatagramQueue queue = queue();
    try (DatagramChannel peer = open(address(silent))) {
      Answered answered = answerUntil(peer, queue, () -> paths() > before);
      hosts.until(
          () -> {
            frame.set(RendezvousFrame.Kind.PROBED, answered.challenge(), answered.sequence());
            send(peer, answered.from());
            return paths() == before;
          });
    }
    publication.close();
    Worker.run(queue::close);
    assertEquals(List.of(), publisher.errors);
  }

  /** A peer that says BYE, comes back, and whose BYE somebody repeats. */
  @Test
  void aByeCountsOnce() throws IOException {
    String silent = Hosts.endpoint(Hosts.B);
    ExclusivePublication publication = publisher.publish("aeron:udp?endpoint=" + silent);
    long before = paths();
    DatagramQueue queue = queue();
    try (DatagramChannel peer = open(address(silent))) {
      Answered first = answerUntil(peer, queue, () -> paths() > before);
      frame.set(RendezvousFrame.Kind.BYE, first.nonce(), 0);
      send(peer, first.from());
      hosts.until(() -> paths() == before);
      Answered second = answerUntil(peer, queue, () -> paths() > before);
      assertNotEquals(first.nonce(), second.nonce());
      long dropped = publisher.count("RDMA sender: ", "dropped");
      frame.set(RendezvousFrame.Kind.BYE, first.nonce(), 0);
      send(peer, first.from());
      Answered _ =
          answerUntil(peer, queue, () -> publisher.count("RDMA sender: ", "dropped") > dropped);
      assertTrue(paths() > before);
    }
    publication.close();
    Worker.run(queue::close);
  }

  /** A peer whose queue pair changes, and whose answer for the former one is late. */
  @Test
  void anAnswerOfAFormerQueuePairDoesNotCount() throws IOException {
    String silent = Hosts.endpoint(Hosts.B);
    ExclusivePublication publication = publisher.publish("aeron:udp?endpoint=" + silent);
    long before = paths();
    DatagramQueue former = queue();
    DatagramQueue next = queue();
    RendezvousFrame late = new RendezvousFrame();
    RendezvousFrame read = new RendezvousFrame();
    try (DatagramChannel peer = open(address(silent))) {
      hosts.until(
          () -> {
            boolean _ = welcome(peer, read, former);
            return isProbe(former, late);
          });
      hosts.until(
          () -> {
            boolean _ = welcome(peer, read, next);
            return isProbe(next, read);
          });
      long dropped = publisher.count("RDMA sender: ", "dropped");
      hosts.until(
          () -> {
            frame.set(RendezvousFrame.Kind.PROBED, late.nonce(), late.sequence());
            send(peer, greeting);
            assertEquals(before, paths());
            return publisher.count("RDMA sender: ", "dropped") > dropped + 3;
          });
    }
    publication.close();
    Worker.run(former::close);
    Worker.run(next::close);
  }

  /** Answers a HELLO, if there is one. */
  private boolean welcome(DatagramChannel peer, RendezvousFrame read, DatagramQueue queue) {
    InetSocketAddress[] from = new InetSocketAddress[1];
    boolean isHello = isHello(peer, read, from);
    if (isHello) {
      greeting = from[0];
      frame.set(RendezvousFrame.Kind.WELCOME, read.nonce(), read.sequence());
      frame.offer(1, queue.maximum(), queue.address());
      send(peer, greeting);
    }
    return isHello;
  }

  private static boolean isProbe(DatagramQueue queue, RendezvousFrame read) {
    return queue.next()
        && read.read(queue.memory(), queue.offset(), queue.length())
        && read.kind() == RendezvousFrame.Kind.PROBE;
  }

  /** What a peer has answered last. */
  private record Answered(InetSocketAddress from, long nonce, long challenge, int sequence) {}

  /** Answers HELLO and PROBE as a peer does, with the drivers running. */
  private Answered answerUntil(DatagramChannel peer, DatagramQueue queue, Hosts.Condition end) {
    RendezvousFrame read = new RendezvousFrame();
    Answered[] last = {new Answered(null, 0, 0, 0)};
    hosts.until(
        () -> {
          if (welcome(peer, read, queue)) {
            last[0] = new Answered(greeting, read.nonce(), last[0].challenge, last[0].sequence);
          }
          if (isProbe(queue, read)) {
            last[0] = new Answered(last[0].from, last[0].nonce, read.nonce(), read.sequence());
            frame.set(RendezvousFrame.Kind.PROBED, read.nonce(), read.sequence());
            send(peer, last[0].from);
          }
          return end.isTrue();
        });
    return last[0];
  }

  private long paths() {
    return publisher.count("RDMA sender: ", "paths by RDMA");
  }

  private void send(DatagramChannel peer, InetSocketAddress to) {
    try {
      int _ = peer.send(frame.bytes(), to);
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private static boolean isHello(
      DatagramChannel peer, RendezvousFrame hello, InetSocketAddress[] from) {
    ByteBuffer received = ByteBuffer.allocateDirect(2000);
    try {
      from[0] = (InetSocketAddress) peer.receive(received);
    } catch (IOException e) {
      throw new AssertionError(e);
    }
    return from[0] != null
        && hello.read(received, 0, received.position())
        && hello.kind() == RendezvousFrame.Kind.HELLO;
  }

  private void assertNotWelcomed(
      InetSocketAddress to, long nonce, int sequence, QueuePairAddress address, int maximum)
      throws IOException {
    frame.set(RendezvousFrame.Kind.WELCOME, nonce, sequence).offer(1, maximum, address);
    assertDroppedByPublisher(to);
  }

  private void assertDroppedByPublisher(InetSocketAddress to) throws IOException {
    long dropped = publisher.count("RDMA sender: ", "dropped");
    send(to);
    hosts.until(() -> publisher.count("RDMA sender: ", "dropped") > dropped);
  }
}
