package dev.verbena.simulated;

import dev.verbena.soft.Simulation;
import java.io.IOException;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * One end of a stream of a simulation: an actor that writes, one that reads, and one that ends the
 * stream, by choices of the simulation. What it has done is there for {@link #requireBytesFrom}.
 */
final class SimulatedEnd {
  /** What the reader does when it has read enough. */
  private enum Stop {
    AT_END,
    SHUT_INPUT,
    CLOSE
  }

  /** What comes in between. */
  private enum Disturbance {
    CLOSE,
    ABORT,
    INTERRUPT_READER,
    INTERRUPT_WRITER,
    SHUT_INPUT,
    SHUT_OUTPUT
  }

  private static final int MOST_BYTES = 20_000;
  private static final int MOST_AT_ONCE = 4000;
  private static final int SMALL = 64;

  /** So many bytes at most in small writes or reads, each of which takes a while to simulate. */
  private static final int MOST_SMALL = 1000;

  /** The time of an orderly close after which the library aborts, if the peer does not read. */
  private static final Duration LONGEST_CLOSE = Duration.ofMinutes(3);

  /** Longer than all is written and read if events arrive, without a keep-alive. */
  static final Duration LONGEST_TRANSFER = Duration.ofSeconds(150);

  /**
   * Between the last write of an end and what it does next: meanwhile a peer that is idle at first
   * reads all.
   */
  private static final Duration HOLD = Duration.ofSeconds(80);

  /** How long a reader does nothing at first. */
  private static final Duration LONGEST_IDLE = Duration.ofSeconds(50);

  private final Simulation simulation;
  private final RandomGenerator random;
  private final String name;
  private final SocketChannel channel;
  private final int pattern;
  private final Duration began;

  // The choices.
  private final boolean selects;
  private final int toWrite;
  private final int writtenAtOnce;
  private final int readAtOnce;

  /** Whether the end writes all before it reads: what the send buffer accepts from the peer's. */
  private final boolean writesFirst;

  private final Duration idle;
  private final boolean holds;
  private final boolean shutsOutput;
  private final Stop stop;
  private final int toRead;
  private final int pauses;
  private final boolean aborts;
  private final @Nullable Disturbance disturbance;
  private final Duration disturbedAfter;

  // What has happened. One actor runs at a time.
  private int written;
  private int read;
  private boolean hasReadEnd;
  private boolean hasShutInput;
  private boolean hasShutOutput;
  private boolean hasAborted;
  private @Nullable Duration closed;
  private @Nullable Duration heldUntil;
  private @Nullable Duration lastRead;
  private @Nullable IOException readFailure;
  private @Nullable IOException writeFailure;
  private @Nullable Duration failedRead;
  private final List<Selector> selectors = new ArrayList<>();
  private @Nullable Thread reader;
  private @Nullable Thread writer;

  SimulatedEnd(
      Simulation simulation, String name, SocketChannel channel, int pattern, boolean mayDisturb)
      throws IOException {
    this.simulation = simulation;
    this.random = simulation.random();
    this.name = name;
    this.channel = channel;
    this.pattern = pattern;
    began = simulation.now();
    selects = random.nextBoolean();
    writtenAtOnce = atOnce();
    readAtOnce = atOnce();
    writesFirst = random.nextInt(4) == 0;
    int most =
        writesFirst
            ? channel.getOption(StandardSocketOptions.SO_SNDBUF) + 1
            : writtenAtOnce < SMALL ? MOST_SMALL : MOST_BYTES;
    toWrite = random.nextInt(4) == 0 ? 0 : random.nextInt(most);
    idle =
        random.nextBoolean()
            ? Duration.ofNanos(random.nextLong(LONGEST_IDLE.toNanos()))
            : Duration.ZERO;
    holds = !writesFirst && random.nextInt(3) == 0;
    shutsOutput = random.nextInt(4) > 0;
    stop = random.nextInt(4) > 0 ? Stop.AT_END : Stop.values()[random.nextInt(3)];
    toRead = stop == Stop.AT_END ? Integer.MAX_VALUE : random.nextInt(MOST_BYTES);
    pauses = random.nextBoolean() ? 0 : 1 + random.nextInt(20);
    aborts = mayDisturb && random.nextInt(6) == 0;
    disturbance =
        mayDisturb && random.nextInt(3) == 0
            ? Disturbance.values()[random.nextInt(Disturbance.values().length)]
            : null;
    disturbedAfter = Duration.ofNanos(random.nextLong(1L << (8 + random.nextInt(17))));
    if (random.nextInt(3) == 0) {
      channel.setOption(StandardSocketOptions.SO_LINGER, 1 + random.nextInt(20));
    }
    if (selects) {
      channel.configureBlocking(false);
    }
  }

  /** Runs until the stream has ended. */
  void run() throws Exception {
    writer = simulation.actor(name + " writer", this::write);
    reader = simulation.actor(name + " reader", this::read);
    Thread disturber = disturbance == null ? null : simulation.actor(name, this::disturb);
    writer.join();
    if (shutsOutput) {
      reader.join(); // Otherwise the peer does not end, and the reader neither.
    }
    if (aborts) {
      abort();
    }
    close();
    reader.join();
    if (disturber != null) {
      disturber.join();
    }
  }

  private void disturb() throws Exception {
    Simulation.sleep(disturbedAfter);
    switch (disturbance) {
      case CLOSE -> close();
      case ABORT -> {
        abort();
        close();
      }
      case INTERRUPT_READER -> reader.interrupt();
      case INTERRUPT_WRITER -> writer.interrupt();
      case SHUT_INPUT -> shutInput();
      case SHUT_OUTPUT -> shutOutput();
    }
  }

  private void abort() throws IOException {
    if (channel.isOpen()) {
      hasAborted = true;
      channel.setOption(StandardSocketOptions.SO_LINGER, 0);
    }
  }

  /** A selection does not end when a channel is closed, as in the JDK. */
  private void close() throws IOException {
    if (closed == null) {
      wasClosed();
      channel.close();
    }
    selectors.forEach(Selector::wakeup);
  }

  private void wasClosed() {
    if (closed == null) {
      closed = simulation.now();
    }
  }

  private void shutInput() throws IOException {
    if (channel.isOpen()) {
      hasShutInput = true;
      channel.shutdownInput();
    }
  }

  private void shutOutput() throws IOException {
    if (channel.isOpen()) {
      hasShutOutput = true;
      channel.shutdownOutput();
    }
  }

  // Writing

  private void write() throws IOException {
    try (Selector selector = selector(SelectionKey.OP_WRITE)) {
      ByteBuffer source = buffer(writtenAtOnce);
      while (written < toWrite) {
        pause();
        source.clear().limit(Math.min(1 + random.nextInt(source.capacity()), toWrite - written));
        for (int i = 0; i < source.limit(); i++) {
          source.put(i, byteAt(pattern, written + i));
        }
        int before = written;
        try {
          while (source.hasRemaining()) {
            if (channel.write(source) == 0) {
              select(selector);
            }
          }
        } finally {
          written = before + source.position();
        }
      }
      if (holds) {
        Simulation.sleep(HOLD);
        heldUntil = simulation.now();
      }
      if (shutsOutput) {
        shutOutput();
      }
    } catch (InterruptedException e) {
      close();
    } catch (IOException e) {
      writeFailure = e;
      noteClosing();
    }
  }

  // Reading

  private void read() throws IOException {
    try (Selector selector = selector(SelectionKey.OP_READ)) {
      if (writesFirst) {
        writer.join();
      }
      Simulation.sleep(idle);
      ByteBuffer target = buffer(readAtOnce);
      while (read < toRead) {
        pause();
        target.clear().limit(1 + random.nextInt(target.capacity()));
        int count = channel.read(target);
        if (count < 0) {
          hasReadEnd = true;
          return;
        }
        receive(target.flip());
        if (count == 0) {
          select(selector);
        }
      }
      if (stop == Stop.SHUT_INPUT) {
        shutInput();
      } else {
        close();
      }
    } catch (InterruptedException e) {
      close();
    } catch (IOException e) {
      readFailure = e;
      failedRead = simulation.now();
      noteClosing();
    }
  }

  private void receive(ByteBuffer bytes) {
    while (bytes.hasRemaining()) {
      require(bytes.get() == byteAt(~pattern, read), "another byte at " + read);
      read++;
      lastRead = simulation.now();
    }
  }

  private static byte byteAt(int pattern, int index) {
    return (byte)
        ((((pattern ^ (pattern >> 31)) * 31 + (pattern >> 31) + index) * 0x9e37_79b1) >>> 24);
  }

  private int atOnce() {
    return switch (random.nextInt(6)) {
      case 0 -> 1;
      case 1 -> 1 + random.nextInt(SMALL);
      default -> 1 + random.nextInt(MOST_AT_ONCE);
    };
  }

  private ByteBuffer buffer(int size) {
    return random.nextBoolean() ? ByteBuffer.allocateDirect(size) : ByteBuffer.allocate(size);
  }

  private void pause() throws InterruptedException {
    if (pauses > 0 && random.nextInt(pauses) == 0) {
      Simulation.sleep(Duration.ofNanos(random.nextLong(1_000_000)));
    }
  }

  private void noteClosing() {
    if (!channel.isOpen()) {
      wasClosed();
    }
  }

  // Selecting

  /** Returns a selector with a key of the channel; null for a channel that is blocking. */
  private @Nullable Selector selector(int operation) throws IOException {
    if (!selects) {
      return null;
    }
    Selector selector = channel.provider().openSelector();
    try {
      channel.register(selector, operation);
      selectors.add(selector);
      return selector;
    } catch (IOException e) {
      selector.close();
      throw e;
    }
  }

  private static void select(@Nullable Selector selector) throws IOException, InterruptedException {
    require(selector != null, "a blocking channel returned 0");
    int _ = selector.select();
    selector.selectedKeys().clear();
    if (Thread.interrupted()) {
      throw new InterruptedException();
    }
  }

  // The contract

  /**
   * Checks what was read here against what the peer has written, after both have ended.
   *
   * @param isReliable whether no packet can fail for good
   */
  void requireBytesFrom(SimulatedEnd peer, boolean isReliable) {
    String what = this + " from " + peer;
    require(read <= peer.written, what);
    boolean hasEndedItself =
        closed != null && failedRead != null && !failedRead.minus(closed).isNegative();
    if (hasReadEnd && !hasShutInput) {
      require(peer.hasShutOutput || peer.closed != null, "an end that nobody wrote: " + what);
      require(read == peer.written, "bytes before the end are lost: " + what);
      require(
          !isReliable
              || lastRead == null
              || peer.heldUntil == null
              || lastRead.compareTo(peer.heldUntil) < 0,
          "bytes came with the end: " + what);
    }
    if (lastRead != null && isReliable) {
      require(lastRead.minus(began).compareTo(LONGEST_TRANSFER) < 0, "bytes came late: " + what);
    }
    if (readFailure != null && isReliable) {
      boolean isCausedByPeer =
          peer.hasAborted
              || peer.read < written // The peer may have had bytes that it did not read.
              || (peer.closed != null
                  && failedRead.minus(peer.closed).compareTo(LONGEST_CLOSE) >= 0);
      require(hasEndedItself || isCausedByPeer, "a read failed: " + what);
    }
    if (writeFailure != null && isReliable) {
      require(closed != null || hasShutOutput || peer.closed != null, "a write failed: " + what);
    }
  }

  private static void require(boolean isTrue, String otherwise) {
    if (!isTrue) {
      throw new AssertionError(otherwise);
    }
  }

  @Override
  public String toString() {
    return ("%s[%s, wrote %d of %d%s%s%s, read %d of %d (%s)%s%s after %s, closed %s%s, disturbed"
            + " by %s after %s, reading: %s at %s, writing: %s]")
        .formatted(
            name,
            selects ? "selects" : "blocks",
            written,
            toWrite,
            hasShutOutput ? " and shut" : "",
            writesFirst ? " first" : "",
            holds ? " and held" : "",
            read,
            toRead,
            stop,
            hasReadEnd ? " to the end" : "",
            hasShutInput ? " and shut" : "",
            idle,
            closed,
            hasAborted ? " by abort" : "",
            disturbance,
            disturbedAfter,
            readFailure,
            failedRead,
            writeFailure);
  }
}
