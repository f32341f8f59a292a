package dev.verbena.verbs;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.Verbs;
import dev.verbena.raw.ibv_ah_attr;
import dev.verbena.raw.ibv_gid;
import dev.verbena.raw.ibv_gid_entry;
import dev.verbena.raw.ibv_port_attr;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.util.List;
import java.util.OptionalLong;
import java.util.stream.Collectors;

/** A port of an open device, to be asked about its state, its GIDs and its partitions. */
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

  /**
   * The context that the port was asked of.
   *
   * @return the context
   */
  public Context context() {
    return context;
  }

  /**
   * The port's number.
   *
   * @return 1 for the first port
   */
  public int number() {
    return number;
  }

  /**
   * What the port says about itself now: {@code ibv_query_port}, as its macro {@code
   * ___ibv_query_port} asks.
   *
   * @return its attributes
   */
  public PortAttributes attributes() {
    MemorySegment attributes = ibv_port_attr.allocate(Arena.ofAuto());
    context.whileOpen(
        () -> verbs().___ibv_query_port(context.address(), (byte) number, attributes.address()));
    return new PortAttributes(attributes);
  }

  /**
   * The GID at a place of the port's table: {@code ibv_query_gid}.
   *
   * @param index from 0 to {@link PortAttributes#gidTableLength} - 1
   * @return the GID; {@link Gid#ZERO} if the place is empty
   */
  public Gid gid(int index) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment gid = ibv_gid.allocate(arena);
      context.whileOpen(
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
   * The entry at a place of the port's GID table: {@code ibv_query_gid_ex} by its symbol {@code
   * _ibv_query_gid_ex}.
   *
   * @param index from 0 to {@link PortAttributes#gidTableLength} - 1
   * @return the GID with its type and interface
   * @throws VerbsException ENODATA if the place is empty
   */
  public GidEntry gidEntry(int index) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment entry = ibv_gid_entry.allocate(arena);
      context.whileOpen(
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
      throw e.errno() == Errno.ENODATA ? e.explained(unused(index)) : e;
    }
  }

  /** What to say of an index of the GID table without a GID. */
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
                ? "the table is empty: has its network interface an address, and is it up?"
                : "it has " + used);
  }

  /**
   * The port's GIDs.
   *
   * @return the entries of {@link Context#gidTable} that are of this port
   */
  public List<GidEntry> gidTable() {
    return context.gidTable().stream().filter(entry -> entry.port() == number).toList();
  }

  /**
   * The GID, or LID, that fits most programs.
   *
   * @return the choice, with its reason
   * @throws IllegalStateException if the port has none
   */
  public GidChoice chooseGid() {
    return GidChoice.of(this, null);
  }

  /**
   * The GID of an IP address of this machine.
   *
   * @param source an address of the network interface that the port belongs to
   * @return the choice, with its reason
   * @throws IllegalStateException naming the GIDs there are, if the address is not among them
   */
  public GidChoice chooseGid(InetAddress source) {
    return GidChoice.of(this, source);
  }

  /**
   * The way back to the sender of a datagram: {@code ibv_init_ah_from_wc}.
   *
   * @param completions where the datagram's completion is
   * @param index which one of them
   * @param buffer where the datagram was received: its first 40 bytes are its GRH, if it has one
   * @return the path to the sender
   * @throws IllegalArgumentException if the buffer is on the heap, or too short for a GRH
   * @throws IllegalStateException if the buffer's arena is closed
   * @throws WrongThreadException if the buffer's arena is confined to another thread
   */
  public AddressVector pathToSender(Completions completions, int index, MemorySegment buffer) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment path = ibv_ah_attr.allocate(arena);
      context.whileOpen(
          () ->
              verbs()
                  .ibv_init_ah_from_wc(
                      context.address(),
                      (byte) number,
                      ReceivedDatagram.completion(arena, completions, index).address(),
                      ReceivedDatagram.route(arena, buffer).address(),
                      path.address()));
      return AddressVector.readFrom(path)
          .orElseThrow(() -> new IllegalStateException("C named no port of " + this));
    }
  }

  /**
   * The Ethernet address that a path leads to: {@code ibv_resolve_eth_l2_from_gid}.
   *
   * @param path a path from this port
   * @return the address of the peer, or of the router to it
   * @throws VerbsException if the peer's address cannot be resolved, or this is no Ethernet port
   */
  public EthernetAddress resolve(AddressVector path) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment attributes = ibv_ah_attr.allocate(arena);
      path.writeTo(attributes);
      MemorySegment mac = arena.allocate(EthernetAddress.SIZE);
      MemorySegment vlan = arena.allocate(ValueLayout.JAVA_SHORT);
      context.whileOpen(
          () ->
              verbs()
                  .ibv_resolve_eth_l2_from_gid(
                      context.address(), attributes.address(), mac.address(), vlan.address()));
      return EthernetAddress.of(
          mac.toArray(ValueLayout.JAVA_BYTE), vlan.get(ValueLayout.JAVA_SHORT, 0));
    }
  }

  /**
   * The partition key at a place of the port's table: {@code ibv_query_pkey}.
   *
   * @param index from 0 to {@link PortAttributes#pkeyTableLength} - 1
   * @return the key as a number; its upper bit tells a full member
   */
  public int pkey(int index) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment pkey = arena.allocate(ValueLayout.JAVA_SHORT);
      context.whileOpen(
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
   * Where a partition key is in the port's table: {@code ibv_get_pkey_index}.
   *
   * @param pkey a key as {@link #pkey} shows it
   * @return its index
   * @throws VerbsException if the table does not hold the key
   */
  public int pkeyIndex(int pkey) {
    short wanted = (short) Ranges.bits(pkey, Short.SIZE, "a P_Key");
    return context.whileOpen(
        () ->
            verbs()
                .ibv_get_pkey_index(context.address(), (byte) number, Short.reverseBytes(wanted)));
  }

  /**
   * How fast the port's link is now, all lanes together: {@code ibv_query_port_speed}.
   *
   * @return the speed in Mbit/s, or empty where library, kernel or device do not tell
   */
  public OptionalLong megabitsPerSecond() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment speed = arena.allocate(ValueLayout.JAVA_LONG);
      context.whileOpen(
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
