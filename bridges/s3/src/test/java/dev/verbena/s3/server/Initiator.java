package dev.verbena.s3.server;

import dev.verbena.address.QueuePairAddress;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.CompletionStatus;
import dev.verbena.verbs.AddressHandle;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.SendList;
import dev.verbena.verbs.SendRequest;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;

/**
 * Reads and writes the memory of clients, by chunks: a DC initiator, or a connected queue pair. One
 * thread at a time uses it.
 */
final class Initiator implements AutoCloseable {
  static final int DEPTH = 4;
  private static final int CHUNK = 1 << 20;
  private static final int SPINS = 1_000;
  private static final long PAUSE_NANOS = 20_000;

  final QueuePair queuePair;
  private final ProtectionDomain domain;
  private final CompletionQueue completions;
  private final MemoryRegion chunk;
  private final SendList request = new SendList(1, 1);
  private final Completions completion = new Completions(1);

  Initiator(ProtectionDomain domain, Function<CompletionQueue, QueuePair> maker) {
    this.domain = domain;
    completions = domain.context().createCompletionQueue(2 * DEPTH);
    chunk = domain.allocateMemory(CHUNK, AccessFlag.LOCAL_WRITE);
    queuePair = maker.apply(completions);
  }

  /** Moves the data of a token, which has its size, until a request fails. */
  CompletionStatus move(boolean isWrite, Token token, long dcKey, byte[] data) {
    if (!token.isDc()) {
      return move(isWrite, token, data, _ -> {});
    }
    QueuePairAddress target = QueuePairAddress.of(token.target(), token.gid()).withLid(token.lid());
    try (AddressHandle handle = domain.createAddressHandle(queuePair.setup().pathTo(target))) {
      return move(isWrite, token, data, send -> send.toTarget(handle, token.target(), dcKey));
    }
  }

  /** The destination of a request. */
  private interface Destination {
    void set(SendRequest request);
  }

  private CompletionStatus move(
      boolean isWrite, Token token, byte[] data, Destination destination) {
    for (int at = 0; at < data.length; at += CHUNK) {
      int length = Math.min(CHUNK, data.length - at);
      if (isWrite) {
        MemorySegment.copy(data, at, chunk.memory(), ValueLayout.JAVA_BYTE, 0, length);
      }
      SendRequest send = isWrite ? request.write(0) : request.read(0);
      destination.set(
          send.local(chunk, 0, length).remote(token.address() + at, token.rkey()).signaled());
      CompletionStatus status = execute();
      if (status != CompletionStatus.SUCCESS) {
        return status;
      }
      if (!isWrite) {
        MemorySegment.copy(chunk.memory(), ValueLayout.JAVA_BYTE, 0, data, at, length);
      }
    }
    return CompletionStatus.SUCCESS;
  }

  private CompletionStatus execute() {
    if (queuePair.post(request) != 1) {
      throw new IllegalStateException("the send queue is full");
    }
    for (int tries = 0; completions.poll(completion) == 0; tries++) {
      if (tries < SPINS) {
        Thread.onSpinWait();
      } else {
        LockSupport.parkNanos(PAUSE_NANOS);
      }
    }
    return completion.status(0);
  }

  /** After a failed request of a DC initiator. */
  void recover() {
    queuePair.reset();
    queuePair.activate();
  }

  @Override
  public void close() {
    queuePair.close();
    completions.close();
    chunk.close();
  }
}
