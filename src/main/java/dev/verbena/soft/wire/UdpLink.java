package dev.verbena.soft.wire;

import dev.verbena.VerbsException;
import dev.verbena.internal.io.Alarm;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The link of a network to an IP network: RoCE v2, packets in UDP datagrams. Each device of the
 * network has one address and its own socket; packets from one to another go over UDP, too.
 */
public final class UdpLink implements NetworkLink {
  /** The UDP port of RoCE v2. */
  public static final int PORT = 4791;

  /** An array: an iterator would be allocated for each packet. */
  private final UdpEnd[] ends;

  private final Alarm alarm = new Alarm();
  private LinkReceiver receiver;
  private PacketPool packets;
  private boolean closed;

  private UdpLink(List<UdpEnd> ends) {
    this.ends = ends.toArray(UdpEnd[]::new);
    updateDescriptors();
  }

  /**
   * Opens a link.
   *
   * @param addresses the local address of each device
   * @throws VerbsException if a socket cannot be bound, with what to do
   */
  public static UdpLink open(List<InetSocketAddress> addresses) {
    List<UdpEnd> ends = new ArrayList<>();
    try {
      addresses.forEach(address -> ends.add(UdpEnd.open(address)));
      return new UdpLink(ends);
    } catch (RuntimeException e) {
      ends.forEach(UdpEnd::close);
      throw e;
    }
  }

  /** Delivers packets to a network from now on. */
  public void connect(LinkReceiver to, PacketPool pool) {
    receiver = to;
    packets = pool;
  }

  /** The end with a GID, or null. */
  private @Nullable UdpEnd end(long gidHigh, long gidLow) {
    for (UdpEnd end : ends) {
      if (end.gid.low() == gidLow && end.gid.high() == gidHigh) {
        return end;
      }
    }
    return null;
  }

  @Override
  public boolean isConnected() {
    return true;
  }

  /** The least of the ends. */
  @Override
  public int mtu() {
    return Arrays.stream(ends).mapToInt(UdpEnd::mtu).min().orElseThrow();
  }

  @Override
  public boolean reaches(Gids own, InetAddress peer) {
    UdpEnd end = end(own.high(), own.low());
    return end != null && end.reaches(peer);
  }

  @Override
  public boolean isNear(InetAddress peer) {
    return Arrays.stream(ends).anyMatch(end -> end.isNear(peer));
  }

  @Override
  public void send(Packet packet) {
    UdpEnd end = end(packet.sourceGidHigh, packet.sourceGidLow);
    if (end != null && !closed) {
      end.send(packet);
    }
  }

  @Override
  public void flush() {
    if (!closed) {
      for (UdpEnd end : ends) {
        end.flush();
      }
    }
  }

  @Override
  public boolean receive() {
    boolean any = false;
    for (UdpEnd end : ends) {
      any |= end.receive(this);
    }
    return any;
  }

  /** A packet arrived at an end, which belongs to the network from now on. */
  void arrived(Packet packet, Gids at) {
    boolean isEcho =
        packet.sourceGidLow == at.low()
            && packet.sourceGidHigh == at.high()
            && packet.destination == Psn.MASK;
    if (isEcho) {
      packets.release(packet); // Its members have it.
    } else {
      receiver.arrived(packet, at);
    }
  }

  /** Takes a packet; null if there is no memory for it. */
  @Nullable Packet takePacket() {
    return packets.takeIfPossible();
  }

  /** Drops and counts a datagram that is not a valid packet. */
  void malformed(Packet packet, Gids at) {
    packets.release(packet);
    receiver.malformed(at);
  }

  @Override
  public void sleep(long nanos) {
    alarm.await(nanos);
  }

  @Override
  public void rest(long nanos) {
    alarm.awaitRing(nanos);
  }

  @Override
  public void wake(Thread thread) {
    alarm.ring();
  }

  @Override
  public void join(Gids own, Gids group) {
    UdpEnd end = end(own.high(), own.low());
    if (end != null && end.join(group)) {
      updateDescriptors();
      alarm.ring();
    }
  }

  @Override
  public void leave(Gids own, Gids group) {
    UdpEnd end = end(own.high(), own.low());
    if (end != null) {
      end.leave(group, this::updateDescriptors);
      alarm.ring();
    }
  }

  private void updateDescriptors() {
    alarm.descriptors(Arrays.stream(ends).flatMapToInt(UdpEnd::descriptors).toArray());
  }

  @Override
  public void close() {
    closed = true;
    for (UdpEnd end : ends) {
      end.close();
    }
    alarm.close();
  }
}
