package dev.verbena.docs;

import dev.verbena.soft.SoftNetwork;
import dev.verbena.testing.Rig;
import java.lang.annotation.Annotation;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.platform.commons.support.AnnotationSupport;
import org.junit.platform.commons.support.HierarchyTraversalMode;

/**
 * A device test, called without JUnit: on two software devices of its own, or on the emulated NIC
 * where the tests run on it. Public, since a class of another class loader creates it.
 *
 * @param name such as {@code verbs.CqExTest.readsCompletionsOfMessages}
 */
public record NamedTest(String name) implements Callable<Void> {
  /** The method of this name, of this class loader. */
  Optional<Method> method() throws ClassNotFoundException {
    int dot = name.lastIndexOf('.');
    return Arrays.stream(
            Class.forName("dev.verbena." + name.substring(0, dot)).getDeclaredMethods())
        .filter(method -> method.getName().equals(name.substring(dot + 1)))
        .findAny();
  }

  @Override
  public Void call() throws Exception {
    if (Rig.isSoftware()) {
      try (SoftNetwork network = SoftNetwork.of("2")) {
        return network.call(this::run);
      }
    }
    return run();
  }

  private Void run() throws Exception {
    Method test = method().orElseThrow();
    Constructor<?> constructor = test.getDeclaringClass().getDeclaredConstructor();
    constructor.setAccessible(true);
    Object instance = constructor.newInstance();
    try {
      invokeAll(instance, BeforeEach.class);
      invoke(instance, test);
    } finally {
      invokeAll(instance, AfterEach.class);
    }
    return null;
  }

  /** A fixture with parameters is one of a fake, which device tests do not use. */
  private static void invokeAll(Object instance, Class<? extends Annotation> annotation)
      throws Exception {
    for (Method method :
        AnnotationSupport.findAnnotatedMethods(
            instance.getClass(), annotation, HierarchyTraversalMode.TOP_DOWN)) {
      if (method.getParameterCount() == 0) {
        invoke(instance, method);
      }
    }
  }

  private static void invoke(Object instance, Method method) throws Exception {
    method.setAccessible(true);
    method.invoke(instance);
  }
}
