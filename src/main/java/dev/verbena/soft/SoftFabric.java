package dev.verbena.soft;

import dev.verbena.internal.time.Time;
import dev.verbena.soft.device.DeviceCounters;
import dev.verbena.soft.device.Ethernet;
import dev.verbena.soft.device.Fabric;
import dev.verbena.soft.device.ManagementHandler;
import dev.verbena.soft.device.PacketTarget;
import dev.verbena.soft.device.SoftAddressVector;
import dev.verbena.soft.device.SoftDevice;
import dev.verbena.soft.device.SoftPort;
import dev.verbena.soft.engine.Engine;
import dev.verbena.soft.engine.Timer;
import dev.verbena.soft.wire.CaptureWriter;
import dev.verbena.soft.wire.Gids;
import dev.verbena.soft.wire.LinkReceiver;
import dev.verbena.soft.wire.ManagementDatagram;
import dev.verbena.soft.wire.NetworkLink;
import dev.verbena.soft.wire.Opcode;
import dev.verbena.soft.wire.Packet;
import dev.verbena.soft.wire.PacketPool;
import dev.verbena.soft.wire.PacketText;
import dev.verbena.soft.wire.Psn;
import java.io.IOException;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The fabric of a network: knows its devices and their GIDs, and carries packets between their
 * ports and over its link, with the faults of the network. Used under the network's lock.
 */
final class SoftFabric implements Fabric, LinkReceiver {
  private static final System.Logger LOGGER = System.getLogger(SoftFabric.class.getName());

  private final NetworkLink link;
  private final Engine engine;
  private final PacketPool packets;
  private final Faults faults;
  private final Ethernet ethernet = new Ethernet(this);

  /** Changed under the network's lock. */
  private final List<SoftDevice> devices = new CopyOnWriteArrayList<>();

  /** Devices of hosts that were killed: their addresses are known, and do not answer. */
  private final List<SoftDevice> killed = new ArrayList<>();

  /** Receives each packet as text, or null. */
  private @Nullable Consumer<String> tracer;

  private @Nullable CaptureWriter capture;

  /** Writes remarks to the capture file. */
  final Consumer<String> remarks = this::remark;

  // Where packets for a GID go: a hash table, of which at least half is empty
  private long[] gidHighs = new long[1];
  private long[] gidLows = new long[1];
  private @Nullable SoftPort[] gidPorts = new SoftPort[1];

  SoftFabric(NetworkLink link, Engine engine, PacketPool packets, Faults faults) {
    this.link = link;
    this.engine = engine;
    this.packets = packets;
    this.faults = faults;
  }

  /** Passes each packet as text to a consumer from now on. */
  void trace(Consumer<String> lines) {
    tracer = lines;
  }

  /** Writes each packet that is sent to a capture file from now on. */
  void capture(CaptureWriter file) {
    capture = file;
  }

  void endCapture() {
    capture = null;
  }

  // Devices

  @Override
  public List<SoftDevice> devices() {
    return devices;
  }

  void add(SoftDevice device) {
    killed.removeIf(dead -> dead.name.equals(device.name) || sharesAddress(dead, device));
    devices.add(device);
    updateRoutes();
  }

  private static boolean sharesAddress(SoftDevice one, SoftDevice other) {
    return other.ports.stream()
        .flatMap(port -> port.gids.stream())
        .anyMatch(gid -> one.ports.stream().anyMatch(port -> port.gids.contains(gid)));
  }

  void remove(SoftDevice device) {
    devices.remove(device);
    updateRoutes();
  }

  /** Removes a device whose addresses remain known. */
  void kill(SoftDevice device) {
    killed.add(device);
    remove(device);
  }

  @Override
  public boolean isLinked() {
    return link.isConnected();
  }

  @Override
  public int mtu() {
    return link.mtu();
  }

  @Override
  public boolean hasRoute(Gids own, InetAddress peer) {
    return link.reaches(own, peer);
  }

  @Override
  public boolean isNear(InetAddress peer) {
    return link.isNear(peer);
  }

  @Override
  public void join(SoftDevice device, Gids group) {
    link.join(device.ports.getFirst().gids.getFirst(), group);
  }

  @Override
  public void leave(SoftDevice device, Gids group) {
    link.leave(device.ports.getFirst().gids.getFirst(), group);
  }

  private void updateRoutes() {
    List<SoftPort> ports = new ArrayList<>();
    List<Gids> gids = new ArrayList<>();
    for (SoftDevice device : Stream.concat(devices.stream(), killed.stream()).toList()) {
      for (SoftPort port : device.ports) {
        for (Gids gid : port.gids) {
          ports.add(port);
          gids.add(gid);
        }
      }
    }
    int slots = Math.max(1, Integer.highestOneBit(gids.size()) * 4);
    gidHighs = new long[slots];
    gidLows = new long[slots];
    gidPorts = new SoftPort[slots];
    for (int i = 0; i < gids.size(); i++) {
      int slot = slot(gids.get(i).high(), gids.get(i).low());
      if (gidPorts[slot] == null) { // Otherwise a host that was killed had the address.
        gidHighs[slot] = gids.get(i).high();
        gidLows[slot] = gids.get(i).low();
        gidPorts[slot] = ports.get(i);
      }
    }
  }

  /** Returns the slot of a GID, or the empty slot where it would be. */
  private int slot(long gidHigh, long gidLow) {
    int mask = gidPorts.length - 1;
    int at = (int) (((gidHigh ^ gidLow) * 0x9e37_79b9_7f4a_7c15L) >>> 32) & mask;
    while (gidPorts[at] != null && (gidLows[at] != gidLow || gidHighs[at] != gidHigh)) {
      at = (at + 1) & mask;
    }
    return at;
  }

  @Override
  public @Nullable SoftPort port(long gidHigh, long gidLow) {
    return gidPorts[slot(gidHigh, gidLow)];
  }

  // Packets. Called under the engine's lock.

  @Override
  public void send(SoftPort from, Packet packet) {
    from.device.counters.sentPackets++;
    if (!from.carries() || faults.loses(packet)) {
      packets.release(packet);
      return;
    }
    if (faults.corrupts(packet)) {
      packet.corrupt = true;
    }
    trace("sent ", packet);
    record(packet);
    if (faults.duplicates(packet)) {
      launch(from, packets.take().copyOf(packet));
    }
    launch(from, packet);
  }

  @Override
  public boolean deliversAtOnce(SoftAddressVector path) {
    SoftPort port = port(path.destination().high(), path.destination().low());
    return !faults.holdPackets() && port != null && !leaves(path.port(), port);
  }

  private void launch(SoftPort from, Packet packet) {
    long delay = faults.delay(packet);
    if (delay == 0) {
      arrive(from, packet);
    } else {
      new Timer(engine.timers(), () -> arrive(from, packet)).start(engine.now() + delay);
    }
  }

  private void arrive(SoftPort from, Packet packet) {
    if (packet.opcode == Opcode.RAW) {
      ethernet.forward(from, packet);
      packets.release(packet);
      return;
    }
    if (packet.destination == Psn.MASK) {
      multicast(from, packet);
      return;
    }
    SoftPort port = port(packet.destinationGidHigh, packet.destinationGidLow);
    if (port != null && !reaches(from, port)) {
      packets.release(packet);
    } else if (port == null || leaves(from, port)) {
      link.send(packet);
      packets.release(packet);
    } else {
      deliver(packet, port);
    }
  }

  /** Whether packets from one port to another are sent over the link. */
  private boolean leaves(SoftPort from, SoftPort to) {
    return isLinked() && from.device != to.device;
  }

  private void record(Packet packet) {
    if (capture != null && packet.opcode != Opcode.RAW) {
      try {
        capture.write(packet, Time.wallClock());
      } catch (IOException e) {
        captureFailed(e);
      }
    }
  }

  private void remark(String text) {
    if (capture != null) {
      try {
        capture.write(text, Time.wallClock());
      } catch (IOException e) {
        captureFailed(e);
      }
    }
  }

  private void captureFailed(IOException e) {
    capture = null;
    LOGGER.log(System.Logger.Level.WARNING, "the capture file ends here", e);
  }

  private void trace(String what, Packet packet) {
    if (tracer != null) {
      tracer.accept(what + PacketText.of(packet));
    }
  }

  @Override
  public void arrived(Packet packet, Gids at) {
    trace("received ", packet);
    SoftPort port = port(at.high(), at.low());
    if (port == null || !port.carries()) {
      packets.release(packet);
    } else if (packet.destination == Psn.MASK) {
      deliverToMembers(null, packet, port.device);
      packets.release(packet);
    } else {
      deliver(packet, port);
    }
  }

  @Override
  public boolean reaches(@Nullable SoftPort from, SoftPort port) {
    return port.carries() && (from == null || !faults.separates(from.device, port.device));
  }

  private void deliver(Packet packet, SoftPort port) {
    DeviceCounters counters = port.device.counters;
    counters.receivedPackets++;
    if (packet.corrupt) {
      counters.corruptPackets++;
      packets.release(packet);
      return;
    }
    if (packet.destination == 1) {
      manage(packet, port);
      packets.release(packet);
      return;
    }
    PacketTarget queuePair = port.device.queuePair(packet.destination);
    if (queuePair == null || !queuePair.accepts(packet)) {
      counters.droppedPackets++;
      packets.release(packet);
    } else {
      queuePair.deliver(packet);
    }
  }

  private static void manage(Packet packet, SoftPort port) {
    ManagementHandler handler = port.device.management();
    if (handler != null
        && packet.queueKey == ManagementDatagram.QUEUE_KEY
        && packet.length == ManagementDatagram.LENGTH) {
      handler.received(
          port,
          new Gids(packet.destinationGidHigh, packet.destinationGidLow),
          new Gids(packet.sourceGidHigh, packet.sourceGidLow),
          packet.payload);
    }
  }

  private void multicast(SoftPort from, Packet packet) {
    link.send(packet);
    if (isLinked()) {
      deliverToMembers(from, packet, from.device);
    } else {
      devices.forEach(device -> deliverToMembers(from, packet, device));
    }
    packets.release(packet);
  }

  private void deliverToMembers(@Nullable SoftPort from, Packet packet, SoftDevice device) {
    List<PacketTarget> members =
        device.members(new Gids(packet.destinationGidHigh, packet.destinationGidLow));
    if (members.isEmpty() || device.ports.stream().noneMatch(port -> reaches(from, port))) {
      return;
    }
    device.counters.receivedPackets++;
    if (packet.corrupt) {
      device.counters.corruptPackets++;
      return;
    }
    for (PacketTarget member : members) {
      boolean sender = from != null && member.isSenderOf(from, packet);
      if (!sender && member.accepts(packet)) {
        member.deliver(packets.take().copyOf(packet));
      }
    }
  }

  @Override
  public void malformed(Gids at) {
    SoftPort port = port(at.high(), at.low());
    if (port != null) {
      port.device.counters.malformedPackets++;
    }
  }
}
