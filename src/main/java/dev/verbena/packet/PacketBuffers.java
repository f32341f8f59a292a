package dev.verbena.packet;

import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.DeviceAttributes;
import dev.verbena.verbs.DeviceCapability;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.RawPacketCapability;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.RequestList;
import dev.verbena.verbs.SendList;
import dev.verbena.verbs.SendRequest;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;

/**
 * Registered memory for a number of packets, each in one or more fragments: headers apart from what
 * they head, say. The fragments of one kind follow each other in memory, padding after each.
 *
 * <p>
 *
 * {@snippet :
 * PacketBuffers packets =
 *     port.packets(1024)
 *         .fragment(42, 22) // bytes, bytes of padding: 64 for each packet
 *         .fragment(1024, 0)
 *         .create();
 * ReceiveList receives = packets.receives(256); // of the first 256 packets
 * packets.point(receives, 0, 256); // the first receive takes packet 256 now
 * }
 *
 * <p>Closing takes back the registrations that were made here. Requests that were posted must be
 * done with by then. The port closes them with all else.
 */
public final class PacketBuffers implements AutoCloseable {
  private final ProtectionDomain domain;
  private final int count;
  private final Fragment[] fragments;

  /** A fragment of each packet, in a region that somebody else may own. */
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

  /** Of what packets are made. */
  public static final class Builder {
    private static final long PAGE = 4096;

    private final ProtectionDomain domain;
    private final int count;
    private final List<Plan> plans = new ArrayList<>();

    /** A fragment to be: of a region, of memory that is to be registered, or of new memory. */
    private record Plan(MemoryRegion region, MemorySegment memory, int length, int padding) {
      long stride() {
        return (long) length + padding;
      }
    }

    Builder(ProtectionDomain domain, int count) {
      if (count < 1) {
        throw new IllegalArgumentException("buffers for " + count + " packets");
      }
      this.domain = domain;
      this.count = count;
    }

    /**
     * Adds a fragment to each packet, in memory of its own.
     *
     * @param length its length
     * @param padding unused bytes behind it
     * @return this
     */
    public Builder fragment(int length, int padding) {
      return add(null, null, length, padding);
    }

    /**
     * Adds a fragment to each packet, in memory that is registered here.
     *
     * @param memory native memory for exactly that many fragments with their padding
     * @param length the length of a fragment
     * @param padding unused bytes behind it
     * @return this
     * @throws IllegalArgumentException if the memory is for another number of packets
     */
    public Builder fragment(MemorySegment memory, int length, int padding) {
      return add(null, Objects.requireNonNull(memory, "memory"), length, padding);
    }

    /**
     * Adds a fragment to each packet, in memory that is registered already.
     *
     * @param region a region of the port's domain, for exactly that many fragments with their
     *     padding; it stays open
     * @param length the length of a fragment
     * @param padding unused bytes behind it
     * @return this
     * @throws IllegalArgumentException if the region is for another number of packets, or of
     *     another domain
     */
    public Builder fragment(MemoryRegion region, int length, int padding) {
      if (region.domain() != domain) {
        throw new IllegalArgumentException(region + " is not of " + domain);
      }
      return add(region, null, length, padding);
    }

    private Builder add(MemoryRegion region, MemorySegment memory, int length, int padding) {
      if (length < 1 || padding < 0) {
        throw new IllegalArgumentException(
            "a fragment of " + length + " bytes with " + padding + " of padding");
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
     * Registers what is not registered yet.
     *
     * @return the buffers, to be closed
     * @throws IllegalStateException if there is no fragment
     */
    public PacketBuffers create() {
      if (plans.isEmpty()) {
        throw new IllegalStateException("packets need a fragment");
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
      // New memory lives as long as its region is open, since that holds on to it.
      MemorySegment memory =
          plan.memory() != null
              ? plan.memory()
              : Arena.ofAuto().allocate(count * plan.stride(), PAGE);
      MemoryRegion region = domain.registerMemory(memory, AccessFlag.LOCAL_WRITE);
      return new Fragment(region, plan.length(), plan.stride(), true);
    }
  }

  /**
   * For how many packets there is memory.
   *
   * @return the number given at creation
   */
  public int count() {
    return count;
  }

  /**
   * Of how many fragments each packet is made.
   *
   * @return at least 1
   */
  public int fragments() {
    return fragments.length;
  }

  /**
   * The region that one fragment of every packet is in.
   *
   * @param fragment which fragment
   * @return the region
   */
  public MemoryRegion region(int fragment) {
    return checkedFragment(fragment).region();
  }

  private Fragment checkedFragment(int fragment) {
    return fragments[Objects.checkIndex(fragment, fragments.length)];
  }

  /**
   * Where in its region a fragment begins.
   *
   * @param packet which packet
   * @param fragment which fragment of it
   * @return the number of bytes before it
   */
  public long offset(int packet, int fragment) {
    return Objects.checkIndex(packet, count) * checkedFragment(fragment).stride();
  }

  /**
   * The memory of a fragment, without its padding.
   *
   * @param packet which packet
   * @param fragment which fragment of it
   * @return its memory
   */
  public MemorySegment fragment(int packet, int fragment) {
    long offset = offset(packet, fragment);
    return region(fragment).memory().asSlice(offset, fragments[fragment].length());
  }

  /**
   * Formats receives, each for the packet of its index.
   *
   * @param requests how many; the first receive is for packet 0
   * @return a list, to be posted
   * @throws IllegalArgumentException if there are fewer packets
   */
  public ReceiveList receives(int requests) {
    ReceiveList list = new ReceiveList(checked(requests), fragments.length);
    for (int i = 0; i < requests; i++) {
      list.id(i, i);
      point(list, i, i);
    }
    return list;
  }

  /**
   * Formats signaled sends, each of the packet of its index.
   *
   * @param requests how many; the first send is of packet 0
   * @return a list, to be posted
   * @throws IllegalArgumentException if there are fewer packets
   */
  public SendList sends(int requests) {
    return sends(requests, false);
  }

  /**
   * Formats signaled sends, each of the packet of its index, for which the device computes the
   * checksums of IPv4, TCP and UDP: {@code IBV_SEND_IP_CSUM}.
   *
   * @param requests how many; the first send is of packet 0
   * @return a list, to be posted
   * @throws IllegalArgumentException if there are fewer packets
   * @throws UnsupportedOperationException if the device does not compute them
   */
  public SendList sendsWithChecksum(int requests) {
    DeviceAttributes device = domain.context().deviceAttributes();
    if (!device.has(RawPacketCapability.IP_CSUM) && !device.has(DeviceCapability.RAW_IP_CSUM)) {
      throw new UnsupportedOperationException(
          domain.context().device()
              + " computes no checksums of packets: write them into the packets");
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
      point(list, i, i);
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
   * Points a request at a packet, all of its fragments: a completed one before it is posted again.
   *
   * @param requests a list of these buffers
   * @param request which of its requests
   * @param packet which packet
   */
  public void point(RequestList requests, int request, int packet) {
    for (int i = 0; i < fragments.length; i++) {
      Fragment fragment = fragments[i];
      requests.local(request, i, fragment.region(), offset(packet, i), fragment.length());
    }
  }

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
