package dev.verbena.internal.mlx5;

import static dev.verbena.testing.DeviceKind.MLX5;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.QueueMaker;
import dev.verbena.internal.life.Core;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.On;
import dev.verbena.testing.Rig;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairBuilder;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.reflect.Field;
import java.util.function.LongConsumer;

/** A device that is lost with a direct queue pair, which libmlx5 does not free. */
@On(MLX5)
class LostDirectQueuesTest {
  /** The destruction of a queue pair in the kernel alone. */
  private static MethodHandle destructionInKernel() {
    return Linker.nativeLinker()
        .downcallHandle(
            SymbolLookup.libraryLookup("libibverbs.so.1", Arena.global())
                .find("ibv_cmd_destroy_qp")
                .orElseThrow(),
            FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.JAVA_LONG));
  }

  /** A direct queue pair, which is destroyed in the given way. */
  private static QueuePair queuePair(
      Context context, ProtectionDomain domain, LongConsumer destroy) {
    CompletionQueue queue = context.completionQueue(8).direct().create();
    QueueMaker maker =
        new QueueMaker(
            attr -> Core.of(context).verbs().ibv_create_qp_ex(Core.of(context).address(), attr),
            destroy);
    QueuePair queuePair =
        QueuePairBuilder.of(domain, QueuePairType.RC, maker).completions(queue).create();
    assertTrue(queuePair.isDirect());
    return queuePair;
  }

  /** It counts the queue pair as a user of its domains. */
  @DeviceTest
  void domainsAreClosed() {
    MethodHandle inKernel = destructionInKernel();
    try (Context context = Rig.a().open()) {
      ProtectionDomain domain = context.allocateProtectionDomain();
      QueuePair queuePair =
          queuePair(
              context,
              domain,
              qp -> {
                assertEquals(0, call(inKernel, qp));
                throw new VerbsException("ibv_destroy_qp", Errno.EIO);
              });
      Core.of(context).device().loss().report();
      queuePair.close();
      domain.close();
      assertFalse(domain.isOpen());
    }
  }

  /** A post of a session holds nothing but the lock of the queue. */
  @DeviceTest
  void closeWaitsForThePostOfASession() throws Exception {
    MethodHandle inKernel = destructionInKernel();
    try (Context context = Rig.a().open()) {
      QueuePair queuePair =
          queuePair(
              context,
              context.allocateProtectionDomain(),
              _ -> {
                throw new VerbsException("ibv_destroy_qp", Errno.EIO);
              });
      QueueLock lock =
          (QueueLock) field(((Mlx5QueuePair) field(queuePair, "calls")).sends(), "lock");
      Core.of(context).device().loss().report();
      assertEquals(0, call(inKernel, queuePair.segment().address())); // No transition succeeds now.
      lock.lock();
      Thread closing = Thread.ofPlatform().start(queuePair::close);
      try {
        closing.join(500);
        assertTrue(closing.isAlive(), "the memory is freed while an entry is written");
      } finally {
        lock.unlock();
      }
      closing.join();
      assertFalse(queuePair.isOpen());
    }
  }

  private static Object field(Object owner, String name) throws ReflectiveOperationException {
    Field field = owner.getClass().getDeclaredField(name);
    field.setAccessible(true);
    return field.get(owner);
  }

  private static int call(MethodHandle function, long argument) {
    try {
      return (int) function.invokeExact(argument);
    } catch (Throwable t) {
      throw new AssertionError(t);
    }
  }
}
