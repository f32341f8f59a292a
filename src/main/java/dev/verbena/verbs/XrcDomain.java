package dev.verbena.verbs;

import dev.verbena.NativeFlag;
import dev.verbena.VerbsException;
import dev.verbena.internal.Explanation;
import dev.verbena.internal.io.FileDescriptors;
import dev.verbena.internal.life.Core;
import dev.verbena.internal.life.ObjectText;
import dev.verbena.raw.ibv_xrcd_init_attr;
import dev.verbena.raw.rdma_h;
import dev.verbena.values.XrcDomainFlag;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;

/**
 * An extended reliable connection (XRC) domain: {@code struct ibv_xrcd}. Its queue pairs deliver
 * messages to the shared receive queues of all processes that opened the domain. Get one with
 * {@link #open(Context)}.
 *
 * <p>Closing it calls {@code ibv_close_xrcd}. See {@code ibv_open_xrcd(3)}.
 */
public final class XrcDomain extends Resource {
  private final Context context;

  private XrcDomain(Context context, Core core) {
    super(core);
    this.context = context;
  }

  /**
   * Opens an extended reliable connection (XRC) domain that is not shared with other processes:
   * {@code ibv_open_xrcd}.
   *
   * @param context the context of the device
   * @return the domain, to be closed
   */
  public static XrcDomain open(Context context) {
    return open(context, -1, Set.of(XrcDomainFlag.CREAT));
  }

  /**
   * Opens an XRC domain that is associated with a file: {@code ibv_open_xrcd}. Processes that open
   * a domain with the same file share it. The file is opened for reading, and closed again: the
   * kernel keeps its inode. Pass {@code /proc/self/fd/N} for a file that C code has opened.
   *
   * @param context the context of the device
   * @param file an existing file, which identifies the domain
   * @param flags CREAT, EXCL, or none to open an existing domain
   * @return the domain, to be closed
   * @throws VerbsException ENOENT or EACCES of {@code open(2)}; EAGAIN if no domain is associated
   *     with the file, and CREAT is not set; EINVAL if there is one, and EXCL is set
   */
  public static XrcDomain open(Context context, Path file, XrcDomainFlag... flags) {
    Set<XrcDomainFlag> given = Set.of(flags);
    int descriptor = FileDescriptors.open(file);
    try {
      return open(context, descriptor, given);
    } catch (VerbsException e) {
      throw Explanation.add(e, file.toString());
    } finally {
      FileDescriptors.close(descriptor);
    }
  }

  private static XrcDomain open(Context context, int descriptor, Set<XrcDomainFlag> flags) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment attr = ibv_xrcd_init_attr.allocate(arena);
      ibv_xrcd_init_attr.comp_mask(
          attr, rdma_h.IBV_XRCD_INIT_ATTR_FD() | rdma_h.IBV_XRCD_INIT_ATTR_OFLAGS());
      ibv_xrcd_init_attr.fd(attr, descriptor);
      ibv_xrcd_init_attr.oflags(attr, (int) NativeFlag.mask(flags));
      return Core.make(
          List.of(context),
          () -> context.verbs().ibv_open_xrcd(context.address(), attr.address()),
          context.verbs()::ibv_close_xrcd,
          core -> new XrcDomain(context, core));
    } catch (VerbsException e) {
      throw Explanation.addIfUnsupported(e, context.device() + " does not support XRC");
    }
  }

  /** {@return the context of the domain} */
  public Context context() {
    return context;
  }

  @Override
  public String toString() {
    return ObjectText.of(core, "XRC domain of " + context.device());
  }
}
