package dev.verbena.cm;

import dev.verbena.internal.Ranges;
import dev.verbena.raw.rdma_h;
import dev.verbena.values.AckTimeout;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Options of an identifier, to be set before it is bound or connected: {@code rdma_set_option}. */
public final class ConnectionOptions {
  private final NativeId id;

  ConnectionOptions(NativeId id) {
    this.id = id;
  }

  /**
   * Sets the type of service of the packets: {@code RDMA_OPTION_ID_TOS}.
   *
   * @param value the type of service, 0 to 255; on RoCE the traffic class, whose upper six bits are
   *     the DSCP
   * @return this
   */
  public ConnectionOptions typeOfService(int value) {
    return setByte(rdma_h.RDMA_OPTION_ID_TOS(), Ranges.range("type of service", value, 0, 255));
  }

  /**
   * Permits other identifiers to bind to the same address: {@code RDMA_OPTION_ID_REUSEADDR}.
   *
   * @param reuse true to permit it
   * @return this
   */
  public ConnectionOptions reuseAddress(boolean reuse) {
    return setInt(rdma_h.RDMA_OPTION_ID_REUSEADDR(), reuse ? 1 : 0);
  }

  /**
   * Restricts an identifier bound to the IPv6 wildcard address to IPv6: {@code
   * RDMA_OPTION_ID_AFONLY}.
   *
   * @param only true for IPv6 only
   * @return this
   */
  public ConnectionOptions addressFamilyOnly(boolean only) {
    return setInt(rdma_h.RDMA_OPTION_ID_AFONLY(), only ? 1 : 0);
  }

  /**
   * Sets the local ACK timeout of the queue pair: {@code RDMA_OPTION_ID_ACK_TIMEOUT}.
   *
   * @param timeout the local ACK timeout
   * @return this
   */
  public ConnectionOptions ackTimeout(AckTimeout timeout) {
    return setByte(rdma_h.RDMA_OPTION_ID_ACK_TIMEOUT(), timeout.code());
  }

  /**
   * Sets the path record instead of resolving a route: {@code RDMA_OPTION_IB_PATH}. {@link
   * EventType#ROUTE_RESOLVED} follows.
   *
   * @param pathData one or more {@code struct ibv_path_data}
   * @return this
   */
  public ConnectionOptions path(byte[] pathData) {
    return set(rdma_h.RDMA_OPTION_IB(), rdma_h.RDMA_OPTION_IB_PATH(), pathData);
  }

  /**
   * Sets any option: {@code rdma_set_option}.
   *
   * @param level {@code RDMA_OPTION_ID} or {@code RDMA_OPTION_IB}
   * @param name the number of the option
   * @param value the bytes of the C value
   * @return this
   */
  public ConnectionOptions set(int level, int name, byte[] value) {
    try (Arena arena = Arena.ofConfined()) {
      set(level, name, arena.allocateFrom(ValueLayout.JAVA_BYTE, value));
    }
    return this;
  }

  private ConnectionOptions setByte(int name, int value) {
    return set(rdma_h.RDMA_OPTION_ID(), name, new byte[] {(byte) value});
  }

  private ConnectionOptions setInt(int name, int value) {
    try (Arena arena = Arena.ofConfined()) {
      set(rdma_h.RDMA_OPTION_ID(), name, arena.allocateFrom(ValueLayout.JAVA_INT, value));
    }
    return this;
  }

  private void set(int level, int name, MemorySegment value) {
    id.call(
        "setting option " + name,
        (rdmacm, pointer) ->
            rdmacm.rdma_set_option(pointer, level, name, value.address(), value.byteSize()));
  }

  @Override
  public String toString() {
    return "options of " + id;
  }
}
