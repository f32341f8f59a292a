package dev.verbena.internal.mlx5;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.DirectDataPath;
import dev.verbena.internal.Mlx5dv;
import dev.verbena.internal.Providers;
import dev.verbena.internal.Verbs;
import dev.verbena.internal.calls.DirectQueues;
import dev.verbena.internal.calls.PostingStart;
import dev.verbena.internal.foreign.Block;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.foreign.Platform;
import dev.verbena.raw.ibv_context;
import dev.verbena.raw.ibv_device_attr;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The direct data path of devices whose provider is libmlx5. */
public final class Mlx5DataPath implements DirectDataPath {
  /** Variables that make libmlx5 use other layouts than this package writes. */
  private static final List<String> OTHER_LAYOUTS =
      List.of("MLX5_QP_SIGNATURE", "MLX5_SRQ_SIGNATURE");

  /** What is required of variables that are set: the library sets the second one to 0 itself. */
  private static final Map<String, String> REQUIRED =
      Map.of("MLX5_CQE_SIZE", "64", "MLX5_SCATTER_TO_CQE", "0");

  /** For the service loader. */
  public Mlx5DataPath() {}

  @Override
  public DirectQueues open(Verbs verbs, long context) {
    requireX86(Platform.current());
    Mlx5dv functions = library();
    if (!functions.mlx5dv_is_supported(Memory.getLong(context + ibv_context.device$offset()))) {
      throw refusal("the provider of the device is not libmlx5");
    }
    for (String variable : OTHER_LAYOUTS) {
      if (System.getenv(variable) != null) {
        throw refusal("the environment variable " + variable + " is set");
      }
    }
    REQUIRED.forEach(
        (variable, value) -> {
          if (!System.getenv().getOrDefault(variable, value).equals(value)) {
            throw refusal("the environment variable " + variable + " is not " + value);
          }
        });
    return new Mlx5Queues(
        verbs, functions, hasAtomics(verbs, context), DoorbellRegister.Copied.by(System.getenv()));
  }

  @Override
  public @Nullable PostingStart postingStart(String library, long qp, long qpEx) {
    return library.contains("libmlx5")
        ? new RoomCheck(qp, qpEx, QueueMemory.queuePair(Providers.mlx5dv(), qp))
        : null;
  }

  /**
   * The order of stores to the device is that of x86-64: no fence of Java orders them on others.
   */
  static void requireX86(Platform platform) {
    if (!platform.isX86()) {
      throw refusal("it needs x86-64, this is " + platform.arch());
    }
  }

  private static Mlx5dv library() {
    try {
      return Providers.mlx5dv();
    } catch (VerbsException e) {
      throw refusal(e.getMessage());
    }
  }

  private static boolean hasAtomics(Verbs verbs, long context) {
    Block attr = new Block(ibv_device_attr.sizeof());
    verbs.ibv_query_device(context, attr.address(0));
    int scope = Memory.getInt(attr.address(ibv_device_attr.atomic_cap$offset()));
    attr.keep();
    return scope != 0;
  }

  static VerbsException refusal(String reason) {
    return new VerbsException("mlx5dv_init_obj", Errno.EOPNOTSUPP, reason);
  }
}
