package dev.verbena.soft.cm;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.Verbs;
import dev.verbena.raw.ibv_xrcd_init_attr;
import dev.verbena.raw.rdma_h;
import dev.verbena.soft.device.CallFailure;
import dev.verbena.soft.device.Registry;
import dev.verbena.soft.device.SoftContext;
import dev.verbena.soft.device.SoftDevice;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * The objects of a device that librdmacm shares between identifiers: a context, which stays open
 * until the network is closed, or the device was removed and neither identifiers nor lists of
 * devices refer to it, and a protection domain and an XRC domain, as long as identifiers use them.
 */
public final class CmDevice {
  private static final int O_CREAT = 0x40;

  public final long context;
  private final Verbs verbs;
  private final SoftDevice device;

  /** Also keeps the struct at the address of the context after it is closed. */
  private final SoftContext opened;

  private boolean isClosing;

  /** The number of identifiers. */
  private int users;

  /** The number of lists of {@code rdma_get_devices} that contain the device. */
  private int lists;

  private long domain;
  private long xrcDomain;

  CmDevice(Verbs verbs, SoftDevice device) {
    this.verbs = verbs;
    this.device = device;
    this.context = verbs.ibv_open_device(device.struct.address());
    this.opened = Registry.at(context, SoftContext.class);
  }

  /** Closes the context, with the last identifier if the program has not closed everything. */
  synchronized void close() {
    isClosing = true;
    closeUnlessUsed();
  }

  /** A list contains the device. */
  synchronized void list() {
    lists++;
  }

  /** A list does not contain it any more. */
  synchronized void unlist() {
    lists--;
  }

  /**
   * Closes the context of a device that was removed, if nothing refers to it; returns whether it is
   * closed.
   */
  synchronized boolean closeIfRemoved() {
    if (device.isRemoved() && users == 0 && lists == 0) {
      close();
    }
    return !device.engine.locked(() -> device.contexts.contains(opened));
  }

  private void closeUnlessUsed() {
    try {
      verbs.ibv_close_device(context);
    } catch (VerbsException e) {
      // An identifier is open, or memory in its domain; or the program closed the context.
    }
  }

  /** Returns the domain and counts a user; allocates the domain for the first user. */
  synchronized long use() {
    if (isClosing) {
      throw CallFailure.of(Errno.ENODEV, "the device was removed");
    }
    if (domain == 0) {
      domain = verbs.ibv_alloc_pd(context);
    }
    users++;
    return domain;
  }

  /** Counts a user less; deallocates the domain after the last user. */
  synchronized void release() {
    users--;
    if (users > 0) {
      return;
    }
    try {
      if (xrcDomain != 0) {
        verbs.ibv_close_xrcd(xrcDomain);
        xrcDomain = 0;
      }
      verbs.ibv_dealloc_pd(domain);
      domain = 0;
    } catch (VerbsException e) {
      // Memory is still registered in it: the next identifier gets the same domain.
    }
    if (isClosing) {
      closeUnlessUsed();
    }
  }

  /** The XRC domain that identifiers of the device share. */
  public synchronized long xrcDomain() {
    if (xrcDomain == 0) {
      try (Arena arena = Arena.ofConfined()) {
        MemorySegment attr = ibv_xrcd_init_attr.allocate(arena);
        ibv_xrcd_init_attr.comp_mask(
            attr, rdma_h.IBV_XRCD_INIT_ATTR_FD() | rdma_h.IBV_XRCD_INIT_ATTR_OFLAGS());
        ibv_xrcd_init_attr.fd(attr, -1);
        ibv_xrcd_init_attr.oflags(attr, O_CREAT);
        xrcDomain = verbs.ibv_open_xrcd(context, attr.address());
      }
    }
    return xrcDomain;
  }
}
