package dev.verbena.verbs;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.address.AddressVector;
import dev.verbena.address.EthernetAddress;
import dev.verbena.address.EthernetDestination;
import dev.verbena.address.Gid;
import dev.verbena.address.GidEntry;
import dev.verbena.attributes.PortAttributes;
import dev.verbena.internal.Explanation;
import dev.verbena.internal.Ranges;
import dev.verbena.internal.Verbs;
import dev.verbena.raw.ibv_ah_attr;
import dev.verbena.raw.ibv_gid;
import dev.verbena.raw.ibv_gid_entry;
import dev.verbena.raw.ibv_port_attr;
import dev.verbena.values.CompletionFlag;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.util.List;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A port of an open device, with its attributes, GIDs and P_Keys. Get one with {@link
 * Context#port}.
 *
 * {@snippet :
 * Port port = context.port(1);
 * System.out.println(port.attributes().state() + " " + port.gidTable());
 * }
 *
 * <p>A port may be used by several threads; there is nothing to close. See {@code
 * ibv_query_port(3)}.
 */
public final class Port {
  private final Context context;
  private final int number;

  Port(Context context, int number) {
    this.context = context;
    this.number = number;
  }

  private Verbs verbs() {
    return context.verbs();
  }

  /** {@return the context of the port} */
  public Context context() {
    return context;
  }

  /**
   * Returns the port number.
   *
   * @return 1 for the first port
   */
  public int number() {
    return number;
  }

  /**
   * Returns the current attributes of the port: {@code ibv_query_port} (as its macro {@code
   * ___ibv_query_port}).
   *
   * @return the attributes
   */
  public PortAttributes attributes() {
    MemorySegment attributes = ibv_port_attr.allocate(Arena.ofAuto());
    context.core.whileOpen(
        () -> verbs().___ibv_query_port(context.address(), (byte) number, attributes.address()));
    return new PortAttributes(attributes);
  }

  /**
   * Returns a GID of the GID table: {@code ibv_query_gid}.
   *
   * @param index the index, 0 to {@link PortAttributes#gidTableLength} - 1
   * @return the GID; {@link Gid#ZERO} if the entry is empty
   */
  public Gid gid(int index) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment gid = ibv_gid.allocate(arena);
      context.core.whileOpen(
          () ->
              verbs()
                  .ibv_query_gid(
                      context.address(),
                      (byte) number,
                      Ranges.bits(index, Short.SIZE, "a GID index"),
                      gid.address()));
      return Gid.readFrom(gid);
    }
  }

  /**
   * Returns an entry of the GID table: {@code ibv_query_gid_ex} ({@code _ibv_query_gid_ex}).
   *
   * @param index the index, 0 to {@link PortAttributes#gidTableLength} - 1
   * @return the GID with its type and interface
   * @throws VerbsException ENODATA if the entry is empty
   */
  public GidEntry gidEntry(int index) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment entry = ibv_gid_entry.allocate(arena);
      context.core.whileOpen(
          () ->
              verbs()
                  .ibv_query_gid_ex(
                      context.address(),
                      number,
                      Ranges.bits(index, Short.SIZE, "a GID index"),
                      entry.address(),
                      0));
      return GidEntry.readFrom(entry);
    } catch (VerbsException e) {
      throw e.errno() == Errno.ENODATA ? Explanation.add(e, unused(index)) : e;
    }
  }

  /** Returns the message for an empty entry of the GID table. */
  private String unused(int index) {
    String used =
        gidTable().stream()
            .map(entry -> entry.index() + " (" + entry.gid() + ")")
            .collect(Collectors.joining(", "));
    return "%s has no GID at index %d of its table; %s"
        .formatted(
            this,
            index,
            used.isEmpty()
                ? "the table is empty: its network interface must be up and have an address"
                : "it has " + used);
  }

  /**
   * Returns the GID table of the port.
   *
   * @return the entries of {@link Context#gidTable} of this port
   */
  public List<GidEntry> gidTable() {
    return context.gidTable().stream().filter(entry -> entry.port() == number).toList();
  }

  /**
   * Returns the GID or LID that suits most programs.
   *
   * @return the choice and its reason
   * @throws IllegalStateException if the port has no GID
   */
  public GidChoice chooseGid() {
    return chooseGid(null, null);
  }

  /**
   * Returns the GID to reach a peer from: that of the address which the kernel would send from,
   * with several VLANs or subnets on the port.
   *
   * @param peer an IP address of the peer
   * @return the choice and its reason
   * @throws IllegalStateException if the port has no GID of the address family of the peer
   */
  public GidChoice chooseGidToward(InetAddress peer) {
    return chooseGid(null, Objects.requireNonNull(peer, "peer"));
  }

  /**
   * Returns the GID of an IP address of this host.
   *
   * @param source an address of the network interface of the port
   * @return the choice and its reason
   * @throws IllegalStateException if the port has no GID of this address; the message lists its
   *     GIDs
   */
  public GidChoice chooseGid(InetAddress source) {
    return chooseGid(source, null);
  }

  GidChoice chooseGid(@Nullable InetAddress source, @Nullable InetAddress peer) {
    return GidChoice.of(gidTable(), attributes(), source, peer, toString());
  }

  /**
   * {@return the address vector of the sender of a received datagram: {@code ibv_init_ah_from_wc}}
   *
   * @param completions the completions that contain the work completion of the datagram
   * @param index the index of the work completion
   * @param buffer the receive buffer, whose first 40 bytes are the GRH if the completion has the
   *     flag {@link CompletionFlag#GRH}
   * @throws IllegalArgumentException if the buffer is on the heap, or too short for a GRH
   * @throws IllegalStateException if the buffer's arena is closed
   * @throws WrongThreadException if the buffer's arena is confined to another thread
   */
  public AddressVector pathToSender(Completions completions, int index, MemorySegment buffer) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment path = ibv_ah_attr.allocate(arena);
      context.core.whileOpen(
          () ->
              verbs()
                  .ibv_init_ah_from_wc(
                      context.address(),
                      (byte) number,
                      ReceivedDatagram.completion(arena, completions, index).address(),
                      ReceivedDatagram.route(arena, buffer).address(),
                      path.address()));
      return AddressVector.readFrom(path)
          .orElseThrow(
              () -> new IllegalStateException("ibv_init_ah_from_wc returned no port for " + this));
    }
  }

  /**
   * Returns the destination of a path on Ethernet: {@code ibv_resolve_eth_l2_from_gid}.
   *
   * @param path an address vector with this port
   * @return its address and VLAN
   * @throws VerbsException if the address cannot be resolved, or if this is not an Ethernet port
   */
  public EthernetDestination resolve(AddressVector path) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment attributes = ibv_ah_attr.allocate(arena);
      path.writeTo(attributes);
      MemorySegment mac = arena.allocate(EthernetAddress.SIZE);
      MemorySegment vlan = arena.allocate(ValueLayout.JAVA_SHORT);
      context.core.whileOpen(
          () ->
              verbs()
                  .ibv_resolve_eth_l2_from_gid(
                      context.address(), attributes.address(), mac.address(), vlan.address()));
      return EthernetDestination.of(
          mac.toArray(ValueLayout.JAVA_BYTE), vlan.get(ValueLayout.JAVA_SHORT, 0));
    }
  }

  /**
   * Returns a P_Key of the P_Key table: {@code ibv_query_pkey}.
   *
   * @param index the index, 0 to {@link PortAttributes#pkeyTableLength} - 1
   * @return the P_Key, 0 to 65535; the most significant bit is set for full members
   */
  public int pkey(int index) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment pkey = arena.allocate(ValueLayout.JAVA_SHORT);
      context.core.whileOpen(
          () ->
              verbs()
                  .ibv_query_pkey(
                      context.address(),
                      (byte) number,
                      Ranges.bits(index, Short.SIZE, "a P_Key index"),
                      pkey.address()));
      return Short.toUnsignedInt(Short.reverseBytes(pkey.get(ValueLayout.JAVA_SHORT, 0)));
    }
  }

  /**
   * {@return the index of a P_Key in the P_Key table: {@code ibv_get_pkey_index}}
   *
   * @param pkey a P_Key, as returned by {@link #pkey}
   * @throws VerbsException if the table does not contain the P_Key
   */
  public int pkeyIndex(int pkey) {
    short wanted = (short) Ranges.bits(pkey, Short.SIZE, "a P_Key");
    return context.core.whileOpen(
        () ->
            verbs()
                .ibv_get_pkey_index(context.address(), (byte) number, Short.reverseBytes(wanted)));
  }

  /**
   * Returns the current speed of the link, all lanes together: {@code ibv_query_port_speed}.
   *
   * @return the speed in Mbit/s, or empty if libibverbs, the kernel or the device does not report
   *     it
   */
  public OptionalLong megabitsPerSecond() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment speed = arena.allocate(ValueLayout.JAVA_LONG);
      context.core.whileOpen(
          () -> verbs().ibv_query_port_speed(context.address(), number, speed.address()));
      return OptionalLong.of(speed.get(ValueLayout.JAVA_LONG, 0) * 100);
    } catch (VerbsException e) {
      if (e.isUnsupported()) {
        return OptionalLong.empty();
      }
      throw e;
    }
  }

  @Override
  public String toString() {
    return "port " + number + " of " + context.device();
  }
}
