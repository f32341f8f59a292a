package dev.verbena.docs;

import dev.verbena.soft.SoftNetwork;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.util.concurrent.Callable;

/**
 * A device test on two software devices of its own, called without JUnit. Public, since a class of
 * another class loader creates it.
 *
 * @param name such as {@code verbs.CqExTest.readsCompletionsOfMessages}
 */
public record NamedTest(String name) implements Callable<Void> {
  @Override
  public Void call() throws Exception {
    int dot = name.lastIndexOf('.');
    Class<?> type = Class.forName("dev.verbena." + name.substring(0, dot));
    Constructor<?> constructor = type.getDeclaredConstructor();
    constructor.setAccessible(true);
    Method method = type.getDeclaredMethod(name.substring(dot + 1));
    method.setAccessible(true);
    try (SoftNetwork network = SoftNetwork.of("2")) {
      network.call(() -> method.invoke(constructor.newInstance()));
    }
    return null;
  }
}
