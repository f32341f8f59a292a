package dev.verbena.fake;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.Memory;
import dev.verbena.raw.ibv_ah;
import dev.verbena.raw.ibv_mr;
import dev.verbena.raw.ibv_pd;

/** Protection domains, memory regions, address handles. */
final class FakeRegions {
  private final FakeDevice device;

  FakeRegions(FakeDevice device) {
    this.device = device;
  }

  public long ibv_alloc_pd(long context) {
    synchronized (device) {
      device.contexts.at(context);
      CStruct pd = CStruct.in(device.arena, ibv_pd.layout()).putLong("context", context);
      device.domains.add(pd.address(), pd.putInt("handle", device.nextNumber()));
      return pd.address();
    }
  }

  public void ibv_dealloc_pd(long pd) {
    synchronized (device) {
      boolean used =
          device.regions.all().stream().anyMatch(mr -> mr.getLong("pd") == pd)
              || device.addressHandles.all().stream().anyMatch(ah -> ah.getLong("pd") == pd)
              || device.queuePairs.all().stream().anyMatch(qp -> qp.pd == pd);
      if (used) {
        throw new VerbsException("ibv_dealloc_pd", Errno.EBUSY);
      }
      device.domains.remove(pd);
    }
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

  private long register(long pd, long address, long length, long iova, int access) {
    synchronized (device) {
      long context = device.domains.at(pd).getLong("context");
      int lkey = device.nextNumber() << 8;
      int rkey = device.nextNumber() << 8;
      CStruct mr =
          CStruct.in(device.arena, ibv_mr.layout())
              .putLong("context", context)
              .putLong("pd", pd)
              .putLong("addr", address)
              .putLong("length", length)
              .putInt("handle", lkey)
              .putInt("lkey", lkey)
              .putInt("rkey", rkey);
      device.regions.add(mr.address(), mr);
      var region = new FakeDevice.Region(pd, address, length, iova, access);
      device.keys.put(lkey, region);
      device.keys.put(rkey, region);
      return mr.address();
    }
  }

  public void ibv_dereg_mr(long mr) {
    synchronized (device) {
      CStruct struct = device.regions.at(mr);
      if (device.bindings.containsValue(mr)) {
        throw new VerbsException("ibv_dereg_mr", Errno.EBUSY);
      }
      device.keys.remove(struct.getInt("lkey"));
      device.keys.remove(struct.getInt("rkey"));
      device.regions.remove(mr);
    }
  }

  public long ibv_create_ah(long pd, long attributes) {
    synchronized (device) {
      long context = device.domains.at(pd).getLong("context");
      CStruct ah =
          CStruct.in(device.arena, ibv_ah.layout()).putLong("context", context).putLong("pd", pd);
      device.addressHandles.add(ah.address(), ah);
      return ah.address();
    }
  }

  public void ibv_destroy_ah(long ah) {
    synchronized (device) {
      device.addressHandles.remove(ah);
    }
  }

  /** Copies memory that no segment owns. */
  static void copy(long from, long to, long length) {
    if (length > 0) {
      Memory.at(to, length).copyFrom(Memory.at(from, length));
    }
  }
}
