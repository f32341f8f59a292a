package dev.verbena.tools;

import dev.verbena.tools.command.Link;
import dev.verbena.verbs.PolledMemory;
import dev.verbena.verbs.SendList;
import java.time.Duration;

/**
 * RDMA writes of one size in both directions: each end polls the last byte of the message that the
 * other one writes, as {@code ib_write_lat} does. It is never 0, and differs from that of the
 * message before.
 */
final class PolledWrites {
  private static final int VALUES = 255;

  private final Link link;
  private final Duration patience;
  private final PolledMemory memory;
  private final SendList request;
  private final long sent;
  private final long received;

  PolledWrites(PerfEnd end, int size) {
    link = end.link();
    patience = end.task().patience(end.timeout());
    memory = new PolledMemory(link.region());
    request = end.requests(1, size, 0);
    sent = size - 1L;
    received = end.task().size() + size - 1L;
  }

  /** Posts the write of a message. */
  void post(int number) {
    memory.putByteRelease(sent, value(number));
    link.post(request);
  }

  /** Waits until the message of the peer is there. */
  void await(int number) throws InterruptedException {
    if (!memory.awaitByte(received, value(number), patience)) {
      throw new IllegalStateException(
          "the peer has not written message " + number + " within " + patience.toSeconds() + " s");
    }
  }

  private static byte value(int number) {
    return (byte) (number % VALUES + 1);
  }
}
