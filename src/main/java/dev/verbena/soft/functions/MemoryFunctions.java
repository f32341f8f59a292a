package dev.verbena.soft.functions;

import dev.verbena.Errno;
import dev.verbena.raw.ibv_mr_init_attr;
import dev.verbena.raw.rdma_h;
import dev.verbena.soft.device.CStruct;
import dev.verbena.soft.device.CallFailure;
import dev.verbena.soft.device.KeyTable;
import dev.verbena.soft.device.MemoryKey;
import dev.verbena.soft.device.MemoryKey.Use;
import dev.verbena.soft.device.Registry;
import dev.verbena.soft.device.ScatterList;
import dev.verbena.soft.device.SoftBuffer;
import dev.verbena.soft.device.SoftContext;
import dev.verbena.soft.device.SoftDomain;
import dev.verbena.soft.device.SoftObject;
import dev.verbena.soft.device.SoftRegion;
import dev.verbena.soft.wire.Packet;

/** Protection domains and memory regions. */
final class MemoryFunctions {
  private static final int REMOTE_WRITES =
      rdma_h.IBV_ACCESS_REMOTE_WRITE() | rdma_h.IBV_ACCESS_REMOTE_ATOMIC();
  private static final int KNOWN =
      rdma_h.IBV_ACCESS_LOCAL_WRITE()
          | rdma_h.IBV_ACCESS_REMOTE_WRITE()
          | rdma_h.IBV_ACCESS_REMOTE_READ()
          | rdma_h.IBV_ACCESS_REMOTE_ATOMIC()
          | rdma_h.IBV_ACCESS_MW_BIND()
          | rdma_h.IBV_ACCESS_ZERO_BASED()
          | rdma_h.IBV_ACCESS_HUGETLB()
          | rdma_h.IBV_ACCESS_ON_DEMAND()
          | rdma_h.IBV_ACCESS_FLUSH_GLOBAL()
          | rdma_h.IBV_ACCESS_FLUSH_PERSISTENT();

  public long ibv_alloc_pd(long context) {
    SoftContext owner = Registry.at(context, SoftContext.class);
    return Registry.create(owner.device, () -> new SoftDomain(owner, null, null));
  }

  public void ibv_dealloc_pd(long address) {
    Registry.destroy(address, SoftDomain.class);
  }

  public long ibv_reg_mr(long pd, long address, long length, int access) {
    return register(pd, address, length, address, access);
  }

  public long ibv_reg_mr_iova(long pd, long address, long length, long iova, int access) {
    return register(pd, address, length, iova, access);
  }

  public long ibv_reg_mr_iova2(long pd, long address, long length, long iova, int access) {
    return register(pd, address, length, iova, access);
  }

  private static long register(long pd, long address, long length, long iova, int access) {
    SoftDomain domain = Registry.at(pd, SoftDomain.class);
    boolean zeroBased = (access & rdma_h.IBV_ACCESS_ZERO_BASED()) != 0;
    return domain.device.engine.locked(
        () -> add(domain, address, length, zeroBased ? 0 : iova, access, null).address());
  }

  /** Registers memory that was checked to be there. */
  static SoftRegion add(
      SoftDomain domain, long address, long length, long start, int access, SoftObject backing) {
    checkAccess(access);
    domain.device.profile.requireAccess(access);
    boolean isAll = length == -1 && address == 0 && start == 0 && isOnDemand(access);
    CallFailure.invalidIf(
        length < 0 && !(isAll && domain.device.memory.isChecked()),
        "negative length, or this host does not permit to register the whole address space");
    if (!isOnDemand(access)) {
      checkMapped(domain, address, length);
    }
    SoftRegion region = Registry.add(new SoftRegion(domain, backing));
    region.struct.putLong("addr", address).putLong("length", length);
    keys(region, address, isAll ? Long.MAX_VALUE : length, start, access);
    return region;
  }

  /** Gives a region new keys. */
  private static void keys(SoftRegion region, long address, long length, long start, int access) {
    region.local = key(Use.LOCAL, region, address, length, start, access, false);
    region.remote = key(Use.REMOTE, region, address, length, start, access, false);
    region.struct.putInt("lkey", region.local.key).putInt("rkey", region.remote.key);
  }

  private static MemoryKey key(
      Use use,
      SoftRegion region,
      long address,
      long length,
      long start,
      int access,
      boolean isNull) {
    KeyTable table = region.device.keys;
    MemoryKey key =
        new MemoryKey(
            use,
            table.reserve(),
            region.domain(),
            start,
            length,
            address,
            access,
            null,
            null,
            isNull);
    table.put(key);
    return key;
  }

  private static void checkAccess(int access) {
    int unknown = access & ~KNOWN & ~rdma_h.IBV_ACCESS_OPTIONAL_RANGE();
    CallFailure.invalidIf(unknown != 0, "access flags 0x" + Integer.toHexString(unknown));
    if ((access & REMOTE_WRITES) != 0 && (access & rdma_h.IBV_ACCESS_LOCAL_WRITE()) == 0) {
      throw CallFailure.invalid("IBV_ACCESS_REMOTE_WRITE without IBV_ACCESS_LOCAL_WRITE");
    }
  }

  private static boolean isOnDemand(int access) {
    return (access & rdma_h.IBV_ACCESS_ON_DEMAND()) != 0;
  }

  /** Reads a byte of the first and the last page: hardware pins all pages, and fails here too. */
  private static void checkMapped(SoftDomain domain, long address, long length) {
    Packet scratch = domain.device.packets.take();
    boolean mapped =
        length == 0
            || (address + length >= address
                && domain.device.memory.copy(address, scratch.payload, 1)
                && domain.device.memory.copy(address + length - 1, scratch.payload, 1));
    domain.device.packets.release(scratch);
    if (!mapped) {
      throw CallFailure.of(Errno.EFAULT, "the memory is not mapped");
    }
  }

  public int ibv_rereg_mr(long mr, int flags, long pd, long address, long length, int newAccess) {
    SoftRegion region = Registry.at(mr, SoftRegion.class);
    return region.device.engine.locked(
        () -> reregister(region, flags, pd, address, length, newAccess));
  }

  private static int reregister(
      SoftRegion region, int flags, long pd, long address, long length, int newAccess) {
    boolean isDeviceMemory =
        region.backing instanceof SoftBuffer buffer && buffer.owner instanceof SoftContext;
    boolean moves = (flags & rdma_h.IBV_REREG_MR_CHANGE_TRANSLATION()) != 0;
    CallFailure.invalidIf(
        region.remote == null || isDeviceMemory || region.local.length == Long.MAX_VALUE,
        "a null region, device memory, or the whole address space");
    CallFailure.invalidIf(moves && length < 0, "negative length");
    region.requireUnused();
    boolean grants = (flags & rdma_h.IBV_REREG_MR_CHANGE_ACCESS()) != 0;
    int access = grants ? newAccess : region.local.access;
    SoftDomain domain =
        (flags & rdma_h.IBV_REREG_MR_CHANGE_PD()) != 0
            ? Registry.at(pd, SoftDomain.class)
            : region.domain();
    checkAccess(access);
    long base = moves ? address : region.local.memory;
    long size = moves ? length : region.local.length;
    if (!isOnDemand(access) && (moves || isOnDemand(region.local.access))) {
      checkMapped(domain, base, size);
    }
    long start = moves ? address : region.local.start; // Also with ZERO_BASED, as all providers.
    region.releaseKeys();
    region.domain(domain);
    keys(region, base, size, start, access);
    region.struct.putLong("addr", base).putLong("length", size);
    return 0;
  }

  public void ibv_dereg_mr(long mr) {
    Registry.destroy(mr, SoftRegion.class);
  }

  public long alloc_null_mr(long pd) {
    SoftDomain domain = Registry.at(pd, SoftDomain.class);
    return domain.device.engine.locked(
        () -> {
          SoftRegion region = Registry.add(new SoftRegion(domain, null));
          region.local = key(Use.LOCAL, region, 0, -1L, 0, 0, true);
          region.struct.putInt("lkey", region.local.key);
          return region.address();
        });
  }

  public long ibv_reg_mr_ex(long pd, long attributes) {
    CStruct attr = CStruct.at(attributes, ibv_mr_init_attr.layout());
    long mask = attr.getLong("comp_mask");
    int known =
        rdma_h.IBV_REG_MR_MASK_ADDR()
            | rdma_h.IBV_REG_MR_MASK_IOVA()
            | rdma_h.IBV_REG_MR_MASK_BUF();
    CallFailure.unsupportedIf(
        (mask & ~known) != 0 || (mask & rdma_h.IBV_REG_MR_MASK_ADDR()) == 0,
        "comp_mask 0x" + Long.toHexString(mask));
    long address = attr.getLong("addr");
    long length = attr.getLong("length");
    int access = attr.getInt("access");
    long iova =
        (mask & rdma_h.IBV_REG_MR_MASK_IOVA()) != 0
            ? attr.getLong("iova")
            : BufferFunctions.zeroBased(access) ? 0 : address;
    return (mask & rdma_h.IBV_REG_MR_MASK_BUF()) != 0
        ? BufferFunctions.register(pd, attr.getLong("buf"), address, length, iova, access)
        : register(pd, address, length, iova, access);
  }

  /** The kernel pages in what the device copies. */
  public int advise_mr(long pd, int advice, int flags, long list, int count) {
    SoftDomain domain = Registry.at(pd, SoftDomain.class);
    if (advice < rdma_h.IBV_ADVISE_MR_ADVICE_PREFETCH()
        || advice > rdma_h.IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT()
        || (flags & ~rdma_h.IBV_ADVISE_MR_FLAG_FLUSH()) != 0) {
      return Errno.EINVAL;
    }
    return domain.device.engine.locked(() -> advise(domain, list, count));
  }

  private static int advise(SoftDomain domain, long list, int count) {
    ScatterList elements = new ScatterList(count);
    elements.read(list, count);
    return elements.isAllowed(domain, 0) ? 0 : Errno.ENOENT;
  }
}
