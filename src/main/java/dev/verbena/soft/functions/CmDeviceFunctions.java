package dev.verbena.soft.functions;

import dev.verbena.internal.foreign.Memory;
import dev.verbena.soft.cm.CmDevice;
import dev.verbena.soft.cm.CmManager;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** The devices that RDMA CM can use. */
final class CmDeviceFunctions {
  private final CmManager manager;

  /** The lists that are in use, by their addresses. */
  private final Map<Long, MemorySegment> lists = new ConcurrentHashMap<>();

  CmDeviceFunctions(CmManager manager) {
    this.manager = manager;
  }

  public long rdma_get_devices(long numDevices) {
    List<CmDevice> devices = manager.devices();
    MemorySegment list = Arena.ofAuto().allocate(ValueLayout.JAVA_LONG, devices.size() + 1L);
    for (int i = 0; i < devices.size(); i++) {
      list.setAtIndex(ValueLayout.JAVA_LONG, i, devices.get(i).context);
    }
    if (numDevices != 0) {
      Memory.putInt(numDevices, devices.size());
    }
    lists.put(list.address(), list);
    return list.address();
  }

  public void rdma_free_devices(long list) {
    lists.remove(list);
  }
}
