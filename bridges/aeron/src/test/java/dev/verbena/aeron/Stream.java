package dev.verbena.aeron;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.aeron.ExclusivePublication;
import io.aeron.Subscription;
import java.util.List;
import org.agrona.concurrent.UnsafeBuffer;

/** Numbered messages of several lengths, whose content each subscription checks. */
final class Stream {
  private static final int[] LENGTHS = {8, 100, 1000, 5000, 20_000};

  private final Hosts hosts;
  private final ExclusivePublication publication;
  private final List<Subscription> subscriptions;
  private final long[] received;
  private final UnsafeBuffer message = new UnsafeBuffer(new byte[20_000]);
  private long sent;

  Stream(Hosts hosts, ExclusivePublication publication, Subscription... subscriptions) {
    this.hosts = hosts;
    this.publication = publication;
    this.subscriptions = List.of(subscriptions);
    this.received = new long[subscriptions.length];
  }

  /** Waits until every subscription has the publication. */
  Stream connect() {
    hosts.until(() -> publication.isConnected() && subscriptions.stream().allMatch(this::isFed));
    return this;
  }

  private boolean isFed(Subscription subscription) {
    return subscription.imageBySessionId(publication.sessionId()) != null;
  }

  /** Sends messages, and waits until all have arrived everywhere. */
  void exchange(int messages) {
    long end = sent + messages;
    while (sent < end || !haveAll(end)) {
      if (sent < end) {
        int length = LENGTHS[(int) (sent % LENGTHS.length)];
        write(sent, length);
        if (publication.offer(message, 0, length) > 0) {
          sent++;
        }
      }
      hosts.run();
      poll();
    }
  }

  private boolean haveAll(long end) {
    for (long count : received) {
      if (count < end) {
        return false;
      }
    }
    return true;
  }

  private void write(long number, int length) {
    message.putLong(0, number);
    for (int i = Long.BYTES; i < length; i++) {
      message.putByte(i, (byte) (number + i));
    }
  }

  private void poll() {
    for (int i = 0; i < received.length; i++) {
      int index = i;
      int _ =
          subscriptions
              .get(i)
              .poll(
                  assembled(
                      (buffer, offset, length) -> {
                        long number = buffer.getLong(offset);
                        assertEquals(received[index], number);
                        assertEquals(LENGTHS[(int) (number % LENGTHS.length)], length);
                        for (int k = Long.BYTES; k < length; k++) {
                          assertEquals((byte) (number + k), buffer.getByte(offset + k));
                        }
                        received[index]++;
                      },
                      index),
                  10);
    }
  }

  private final java.util.Map<Integer, io.aeron.FragmentAssembler> assemblers =
      new java.util.HashMap<>();

  private io.aeron.FragmentAssembler assembled(Check check, int index) {
    return assemblers.computeIfAbsent(
        index,
        key ->
            new io.aeron.FragmentAssembler(
                (buffer, offset, length, header) -> check.message(buffer, offset, length)));
  }

  private interface Check {
    void message(org.agrona.DirectBuffer buffer, int offset, int length);
  }
}
