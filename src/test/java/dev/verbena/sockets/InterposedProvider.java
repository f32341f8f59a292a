package dev.verbena.sockets;

import dev.verbena.internal.Librdmacm;
import dev.verbena.internal.Provider;
import dev.verbena.internal.Verbs;
import dev.verbena.soft.SoftInternals;
import dev.verbena.soft.SoftNetwork;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;

/** The devices of a network, with code of a test before or after the calls of RDMA CM. */
final class InterposedProvider implements Provider {
  private final Provider devices;
  private final Librdmacm rdmacm;

  /** A call of RDMA CM. */
  interface Call {
    Object make() throws Throwable;
  }

  /** Makes a call, and does something before or after. */
  interface Interposer {
    Object call(String function, Object[] arguments, Call call) throws Throwable;
  }

  InterposedProvider(SoftNetwork network, Interposer interposer) {
    devices = new SoftInternals(network).provider();
    rdmacm =
        (Librdmacm)
            Proxy.newProxyInstance(
                Librdmacm.class.getClassLoader(),
                new Class<?>[] {Librdmacm.class},
                (_, method, arguments) ->
                    interposer.call(
                        method.getName(),
                        arguments,
                        () -> {
                          try {
                            return method.invoke(devices.rdmacm(), arguments);
                          } catch (InvocationTargetException e) {
                            throw e.getCause();
                          }
                        }));
  }

  @Override
  public Verbs verbs() {
    return devices.verbs();
  }

  @Override
  public Librdmacm rdmacm() {
    return rdmacm;
  }
}
