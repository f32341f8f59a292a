package dev.verbena.soft.functions;

import dev.verbena.Errno;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_qp_open_attr;
import dev.verbena.raw.ibv_srq_init_attr_ex;
import dev.verbena.raw.ibv_xrcd_init_attr;
import dev.verbena.raw.rdma_h;
import dev.verbena.soft.device.CStruct;
import dev.verbena.soft.device.CallFailure;
import dev.verbena.soft.device.Registry;
import dev.verbena.soft.device.SoftCompletionQueue;
import dev.verbena.soft.device.SoftContext;
import dev.verbena.soft.device.SoftDevice;
import dev.verbena.soft.device.SoftDomain;
import dev.verbena.soft.device.SoftSharedQueue;
import dev.verbena.soft.device.SoftXrcDomain;
import dev.verbena.soft.device.XrcRoot;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Extended reliable connections (XRC): domains, shared receive queues, opened queue pairs. */
final class XrcFunctions {
  private static final int O_CREAT = 0x40;
  private static final int O_EXCL = 0x80;

  /** A file that the XRC domains of a device share. */
  private record SharedFile(SoftDevice device, Object file) {}

  private final Map<SharedFile, XrcRoot> roots = new ConcurrentHashMap<>();

  public long open_xrcd(long context, long attributes) {
    SoftContext owner = Registry.at(context, SoftContext.class);
    CStruct attr = CStruct.at(attributes, ibv_xrcd_init_attr.layout());
    int descriptor = attr.getInt("fd");
    int flags = attr.getInt("oflags");
    Object file = descriptor < 0 ? null : file(descriptor);
    return Registry.create(
        owner.device,
        () ->
            new SoftXrcDomain(
                owner, file == null ? new XrcRoot(null) : shared(owner.device, file, flags)));
  }

  /** What identifies the file of a descriptor of this process. */
  private static Object file(int descriptor) {
    try {
      return Files.getAttribute(Path.of("/proc/self/fd/" + descriptor), "unix:ino")
          + ":"
          + Files.getAttribute(Path.of("/proc/self/fd/" + descriptor), "unix:dev");
    } catch (IOException e) {
      throw CallFailure.invalid("not an open file: " + descriptor);
    }
  }

  private XrcRoot shared(SoftDevice device, Object file, int flags) {
    SharedFile key = new SharedFile(device, file);
    XrcRoot root = roots.get(key);
    if (root == null && (flags & O_CREAT) == 0) {
      throw CallFailure.of(Errno.EAGAIN, "the file has no XRC domain");
    }
    if (root != null && (flags & O_EXCL) != 0) {
      throw CallFailure.invalid("the file has an XRC domain");
    }
    return roots.computeIfAbsent(key, k -> new XrcRoot(file));
  }

  public int close_xrcd(long address) {
    SoftXrcDomain domain = Registry.at(address, SoftXrcDomain.class);
    Registry.destroy(address, SoftXrcDomain.class);
    domain.device.engine.locked(
        () -> {
          if (domain.root.opened == 0 && domain.root.file != null) {
            roots.remove(new SharedFile(domain.device, domain.root.file), domain.root);
          }
        });
    return 0;
  }

  public long create_srq_ex(long context, long attributes) {
    SoftContext _ = Registry.at(context, SoftContext.class);
    CStruct attr = CStruct.at(attributes, ibv_srq_init_attr_ex.layout());
    if (attr.getInt("srq_type") == rdma_h.IBV_SRQT_TM()) {
      return TagFunctions.create(attr);
    }
    CallFailure.unsupportedIf(
        attr.getInt("srq_type") != rdma_h.IBV_SRQT_XRC(), "srq_type " + attr.getInt("srq_type"));
    SoftDomain domain = Registry.at(attr.getLong("pd"), SoftDomain.class);
    SoftXrcDomain xrcDomain = Registry.at(attr.getLong("xrcd"), SoftXrcDomain.class);
    SoftCompletionQueue completions = Registry.at(attr.getLong("cq"), SoftCompletionQueue.class);
    return SharedQueueFunctions.create(domain, attr, xrcDomain, completions, null);
  }

  public int get_srq_num(long address, long number) {
    SoftSharedQueue queue = Registry.at(address, SoftSharedQueue.class);
    if (queue.number == 0) {
      return Errno.EINVAL;
    }
    Memory.putInt(number, queue.number);
    return 0;
  }

  /** Within one process there is nobody to share with. */
  @SuppressWarnings("DoNotCallSuggester") // It is called like every function of the table.
  public long open_qp(long context, long attributes) {
    SoftContext owner = Registry.at(context, SoftContext.class);
    int number = CStruct.at(attributes, ibv_qp_open_attr.layout()).getInt("qp_num");
    throw CallFailure.of(
        Errno.EOPNOTSUPP,
        "software devices do not share queue pairs: "
            + Integer.toHexString(number)
            + " of "
            + owner.device.name);
  }
}
