package dev.verbena.fake;

import dev.verbena.raw.ibv_mw;
import dev.verbena.raw.ibv_mw_bind;

/** Memory windows, which keep their region from being deregistered. */
final class FakeWindows {
  private final FakeDevice device;

  FakeWindows(FakeDevice device) {
    this.device = device;
  }

  public long alloc_mw(long pd, int type) {
    synchronized (device) {
      CStruct mw =
          CStruct.in(device.arena, ibv_mw.layout())
              .putLong("context", device.domains.at(pd).getLong("context"))
              .putLong("pd", pd)
              .putInt("rkey", device.nextNumber() << 8)
              .putInt("type", type);
      device.windows.add(mw.address(), mw);
      return mw.address();
    }
  }

  public int dealloc_mw(long mw) {
    synchronized (device) {
      device.windows.remove(mw);
      device.bindings.remove(mw);
      device.binders.remove(mw);
      return 0;
    }
  }

  /** Binds at once, and leaves no completion. */
  public int bind_mw(long qp, long mw, long bind) {
    synchronized (device) {
      CStruct asked = CStruct.at(bind, ibv_mw_bind.layout());
      CStruct window = device.windows.at(mw);
      window.putInt("rkey", window.getInt("rkey") + 1);
      device.bind(mw, asked.getLong("bind_info.length") == 0 ? 0 : asked.getLong("bind_info.mr"));
      return 0;
    }
  }
}
