package dev.verbena.soft;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.Binding;
import dev.verbena.internal.Libibverbs;
import dev.verbena.internal.Librdmacm;
import dev.verbena.internal.Provider;
import dev.verbena.internal.Verbs;
import java.lang.reflect.Proxy;
import java.util.List;

/** The seam's view of a network: what libibverbs and librdmacm export, in Java. */
final class SoftProvider implements Provider {
  private final Verbs verbs;

  SoftProvider(SoftNetwork network) {
    FunctionTable functions = new FunctionTable(List.of(new DeviceFunctions(network)));
    Object exported =
        Proxy.newProxyInstance(
            Libibverbs.class.getClassLoader(),
            new Class<?>[] {Libibverbs.class},
            (proxy, method, arguments) ->
                method.getDeclaringClass() == Object.class
                    ? method.invoke(network, arguments)
                    : functions.call(network, method.getName(), arguments));
    verbs = Binding.toJava(Verbs.class, exported);
  }

  @Override
  public Verbs verbs() {
    return verbs;
  }

  @Override
  public Librdmacm rdmacm() {
    throw new VerbsException(
        "rdma_create_event_channel",
        Errno.EOPNOTSUPP,
        "the software device does not implement RDMA CM");
  }
}
