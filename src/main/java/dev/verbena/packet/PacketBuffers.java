package dev.verbena.packet;

import dev.verbena.attributes.DeviceAttributes;
import dev.verbena.attributes.DeviceCapability;
import dev.verbena.attributes.RawPacketCapability;
import dev.verbena.values.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.RequestList;
import dev.verbena.verbs.SendList;
import dev.verbena.verbs.SendRequest;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;

/**
 * Registered memory for packets, each of one or more fragments, for example headers and payload.
 * The fragments of one packet index follow each other in memory, each with its padding. Get one
 * from {@link PacketPort#packets(int)}:
 *
 * {@snippet :
 * PacketBuffers packets =
 *     port.packets(1024)
 *         .fragment(42, 22) // bytes, bytes of padding: 64 for each packet
 *         .fragment(1024, 0)
 *         .create();
 * ReceiveList receives = packets.receives(256); // of the first 256 packets
 * packets.setPacket(receives, 0, 256); // the first receive request now uses packet 256
 * }
 *
 * <p>One thread at a time may use a list of these buffers. Closing them deregisters the memory that
 * was registered here; all posted requests must be completed. Closing the port closes them, too.
 */
public final class PacketBuffers implements AutoCloseable {
  private final ProtectionDomain domain;
  private final int count;
  private final Fragment[] fragments;

  /** A fragment of each packet, in a region that may be owned by the caller. */
  private record Fragment(MemoryRegion region, int length, long stride, boolean owned) {
    void close() {
      if (owned) {
        region.close();
      }
    }
  }

  private PacketBuffers(ProtectionDomain domain, int count, Fragment[] fragments) {
    this.domain = domain;
    this.count = count;
    this.fragments = fragments;
  }

  /** A builder of packet buffers. */
  public static final class Builder {
    private final ProtectionDomain domain;
    private final int count;
    private final List<Plan> plans = new ArrayList<>();

    /** A planned fragment: of a region, of memory to be registered, or of new memory. */
    private record Plan(MemoryRegion region, MemorySegment memory, int length, int padding) {
      long stride() {
        return (long) length + padding;
      }
    }

    Builder(ProtectionDomain domain, int count) {
      if (count < 1) {
        throw new IllegalArgumentException("number of packets must be positive: " + count);
      }
      this.domain = domain;
      this.count = count;
    }

    /**
     * Adds a fragment in new memory.
     *
     * @param length the length in bytes
     * @param padding the number of unused bytes after it
     * @return this
     */
    public Builder fragment(int length, int padding) {
      return add(null, null, length, padding);
    }

    /**
     * Adds a fragment in memory that is registered here.
     *
     * @param memory native memory of the size of all fragments with their padding
     * @param length the length of a fragment in bytes
     * @param padding the number of unused bytes after it
     * @return this
     * @throws IllegalArgumentException if the memory has another size
     */
    public Builder fragment(MemorySegment memory, int length, int padding) {
      return add(null, Objects.requireNonNull(memory, "memory"), length, padding);
    }

    /**
     * Adds a fragment in registered memory.
     *
     * @param region a region of the protection domain of the port, of the size of all fragments
     *     with their padding; it stays open
     * @param length the length of a fragment in bytes
     * @param padding the number of unused bytes after it
     * @return this
     * @throws IllegalArgumentException if the region has another size or another protection domain
     */
    public Builder fragment(MemoryRegion region, int length, int padding) {
      if (!region.domain().equals(domain)) {
        throw new IllegalArgumentException(region + " does not belong to " + domain);
      }
      return add(region, null, length, padding);
    }

    private Builder add(MemoryRegion region, MemorySegment memory, int length, int padding) {
      if (length < 1 || padding < 0) {
        throw new IllegalArgumentException(
            "length must be positive and padding must not be negative: " + length + ", " + padding);
      }
      Plan plan = new Plan(region, memory, length, padding);
      if (region != null) {
        requireSize(region.length(), plan);
      } else if (memory != null) {
        requireSize(memory.byteSize(), plan);
      }
      plans.add(plan);
      return this;
    }

    private void requireSize(long size, Plan plan) {
      if (size != count * plan.stride()) {
        throw new IllegalArgumentException(
            "fragment %d has %d bytes, not the %d of %d packets with %d and %d of padding"
                .formatted(
                    plans.size(),
                    size,
                    count * plan.stride(),
                    count,
                    plan.length(),
                    plan.padding()));
      }
    }

    /**
     * Registers the memory that is not registered yet.
     *
     * @return the buffers, to be closed
     * @throws IllegalStateException if there is no fragment
     */
    public PacketBuffers create() {
      if (plans.isEmpty()) {
        throw new IllegalStateException("packets must have a fragment: call fragment");
      }
      Fragment[] fragments = new Fragment[plans.size()];
      for (int i = 0; i < fragments.length; i++) {
        try {
          fragments[i] = fragment(plans.get(i));
        } catch (RuntimeException e) {
          Arrays.stream(fragments, 0, i).forEach(Fragment::close);
          throw e;
        }
      }
      return new PacketBuffers(domain, count, fragments);
    }

    private Fragment fragment(Plan plan) {
      if (plan.region() != null) {
        return new Fragment(plan.region(), plan.length(), plan.stride(), false);
      }
      MemoryRegion region =
          plan.memory() != null
              ? domain.registerMemory(plan.memory(), AccessFlag.LOCAL_WRITE)
              : domain.allocateMemory(count * plan.stride(), AccessFlag.LOCAL_WRITE);
      return new Fragment(region, plan.length(), plan.stride(), true);
    }
  }

  /** {@return the number of packets} */
  public int count() {
    return count;
  }

  /** {@return the number of fragments of each packet, at least 1} */
  public int fragments() {
    return fragments.length;
  }

  /**
   * {@return the memory region of a fragment of all packets}
   *
   * @param fragment the index of the fragment
   */
  public MemoryRegion region(int fragment) {
    return checkedFragment(fragment).region();
  }

  private Fragment checkedFragment(int fragment) {
    return fragments[Objects.checkIndex(fragment, fragments.length)];
  }

  /**
   * {@return the offset of a fragment in its region, in bytes}
   *
   * @param packet the index of the packet
   * @param fragment the index of the fragment
   */
  public long offset(int packet, int fragment) {
    return Objects.checkIndex(packet, count) * checkedFragment(fragment).stride();
  }

  /**
   * {@return the memory of a fragment, without its padding}
   *
   * @param packet the index of the packet
   * @param fragment the index of the fragment
   */
  public MemorySegment fragment(int packet, int fragment) {
    long offset = offset(packet, fragment);
    return region(fragment).memory().asSlice(offset, fragments[fragment].length());
  }

  /**
   * Formats receive requests, each for the packet of its index.
   *
   * @param requests the number of requests
   * @return the list, to be posted
   * @throws IllegalArgumentException if there are fewer packets
   */
  public ReceiveList receives(int requests) {
    ReceiveList list = new ReceiveList(checked(requests), fragments.length);
    for (int i = 0; i < requests; i++) {
      list.id(i, i);
      setPacket(list, i, i);
    }
    return list;
  }

  /**
   * Formats signaled send requests, each for the packet of its index.
   *
   * @param requests the number of requests
   * @return the list, to be posted
   * @throws IllegalArgumentException if there are fewer packets
   */
  public SendList sends(int requests) {
    return sends(requests, false);
  }

  /**
   * Formats signaled send requests, each for the packet of its index, with checksum offload of
   * IPv4, TCP and UDP: {@code IBV_SEND_IP_CSUM}.
   *
   * @param requests the number of requests
   * @return the list, to be posted
   * @throws IllegalArgumentException if there are fewer packets
   * @throws UnsupportedOperationException if the device does not support it
   */
  public SendList sendsWithChecksum(int requests) {
    DeviceAttributes device = domain.context().deviceAttributes();
    if (!device.has(RawPacketCapability.IP_CSUM) && !device.has(DeviceCapability.RAW_IP_CSUM)) {
      throw new UnsupportedOperationException(
          domain.context().device()
              + " does not support checksum offload: write the checksums into the packets");
    }
    return sends(requests, true);
  }

  private SendList sends(int requests, boolean checksum) {
    SendList list = new SendList(checked(requests), fragments.length);
    for (int i = 0; i < requests; i++) {
      SendRequest send = list.send(i).id(i).signaled();
      if (checksum) {
        send.checksum();
      }
      setPacket(list, i, i);
    }
    return list;
  }

  private int checked(int requests) {
    if (requests > count) {
      throw new IllegalArgumentException(requests + " requests for " + count + " packets");
    }
    return requests;
  }

  /**
   * Sets the SGEs of a request to the fragments of a packet, for example before a completed request
   * is posted again.
   *
   * @param requests a list of these buffers
   * @param request the index of the request
   * @param packet the index of the packet
   */
  public void setPacket(RequestList requests, int request, int packet) {
    for (int i = 0; i < fragments.length; i++) {
      Fragment fragment = fragments[i];
      requests.local(request, i, fragment.region(), offset(packet, i), fragment.length());
    }
  }

  /** Closes the regions that were registered here, and frees their memory. */
  @Override
  public void close() {
    for (Fragment fragment : fragments) {
      fragment.close();
    }
  }

  @Override
  public String toString() {
    return "buffers for " + count + " packets of " + fragments.length + " fragments";
  }
}
