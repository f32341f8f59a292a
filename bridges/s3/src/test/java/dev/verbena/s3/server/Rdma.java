package dev.verbena.s3.server;

import dev.verbena.address.Gid;
import dev.verbena.address.GidEntry;
import dev.verbena.address.GidType;
import dev.verbena.mlx5.Mlx5Device;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;

/** Moves data from and to the memory of clients: by DC initiators, or by their connections. */
final class Rdma implements Mover, AutoCloseable {
  /** How many initiators each family of addresses has. */
  private static final int INITIATORS = 4;

  private final Context context;
  private final Counters counters;
  private final Map<Boolean, BlockingQueue<Initiator>> initiators = new HashMap<>();
  final Connections connections;
  volatile long dcKey = 0xffee_ddccL;

  Rdma(Device device, Counters counters) {
    this.counters = counters;
    context = device.open();
    try {
      ProtectionDomain domain = context.allocateProtectionDomain();
      connections = new Connections(domain);
      Mlx5Device mlx5 = Mlx5Device.of(context);
      for (GidEntry entry : context.gidTable()) {
        if (entry.type() == GidType.ROCE_V2 && !entry.gid().isLinkLocal()) {
          initiators.computeIfAbsent(
              entry.gid().isIpv4Mapped(), _ -> initiators(mlx5, domain, entry));
        }
      }
    } catch (Throwable t) {
      context.close();
      throw t;
    }
  }

  private static BlockingQueue<Initiator> initiators(
      Mlx5Device mlx5, ProtectionDomain domain, GidEntry source) {
    BlockingQueue<Initiator> made = new ArrayBlockingQueue<>(INITIATORS);
    for (int i = 0; i < INITIATORS; i++) {
      made.add(
          new Initiator(
              domain,
              queue -> {
                QueuePair initiator =
                    mlx5.dcInitiator(domain)
                        .sendCompletions(queue)
                        .capacity(QueuePairCapacity.of(Initiator.DEPTH))
                        .create();
                initiator.setup().port(source.port()).gid(source.index());
                initiator.activate();
                return initiator;
              }));
    }
    return made;
  }

  @Override
  public byte[] read(Token token) {
    byte[] data = new byte[Math.toIntExact(token.size())];
    require(move(false, token, data), token);
    return data;
  }

  /**
   * Writes the data of a GET, then reads its last byte: the data is in the memory of the client
   * when the READ ends. A region may allow writes only.
   */
  @Override
  public void write(Token token, byte[] data) {
    require(move(true, token, data), token);
    if (data.length > 0 && token.isDc()) {
      Token last = token.at(token.address() + data.length - 1, 1);
      CompletionStatus status = moved(false, last, new byte[1]);
      if (status == CompletionStatus.REM_ACCESS_ERR) {
        counters.unreadable.increment();
      } else {
        require(status, token);
      }
    }
  }

  private static void require(CompletionStatus status, Token token) {
    if (status != CompletionStatus.SUCCESS) {
      throw S3Exception.internal("RDMA failed with " + status + " at " + token);
    }
  }

  /** Moves data, and counts it. */
  CompletionStatus move(boolean isWrite, Token token, byte[] data) {
    CompletionStatus status = moved(isWrite, token, data);
    if (status == CompletionStatus.SUCCESS) {
      (isWrite ? counters.written : counters.read).add(data.length);
    } else {
      counters.failures.increment();
    }
    return status;
  }

  private CompletionStatus moved(boolean isWrite, Token token, byte[] data) {
    if (!token.isDc()) {
      return connections.move(isWrite, token, data);
    }
    Gid gid = token.gid();
    BlockingQueue<Initiator> family = initiators.get(gid.isIpv4Mapped());
    if (family == null) {
      throw S3Exception.invalid("no GID of the server is of the family of " + gid);
    }
    Initiator initiator = take(family);
    CompletionStatus status = CompletionStatus.GENERAL_ERR;
    try {
      status = initiator.move(isWrite, token, dcKey, data);
    } finally {
      try {
        if (status != CompletionStatus.SUCCESS) {
          initiator.recover();
        }
      } finally {
        family.add(initiator);
      }
    }
    return status;
  }

  private static Initiator take(BlockingQueue<Initiator> family) {
    try {
      return family.take();
    } catch (InterruptedException e) {
      throw new IllegalStateException("interrupted while all initiators are in use", e);
    }
  }

  @Override
  public void close() {
    context.close();
  }
}
