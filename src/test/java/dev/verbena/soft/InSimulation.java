package dev.verbena.soft;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.InvocationInterceptor;
import org.junit.jupiter.api.extension.ReflectiveInvocationContext;
import org.junit.jupiter.api.extension.TestInstancePreDestroyCallback;

/**
 * Runs a test, or each of a class, in a {@link Simulation}: what it waits for takes no time. The
 * seed is the number of the repetition or of the arguments, 0 otherwise, unless the system property
 * {@code dev.verbena.simulation.seed} is set. Not for tests that use sockets, processes or the
 * clock of the machine; threads of the platform are made by {@link
 * dev.verbena.internal.time.Time#daemon}.
 *
 * <p>Before JDK 24, which has no simulations, the test runs in real time.
 */
@Target({ElementType.TYPE, ElementType.METHOD})
@Retention(RetentionPolicy.RUNTIME)
@ExtendWith(InSimulation.Interceptor.class)
public @interface InSimulation {
  /** Runs the constructor and the methods of a test as actors of one simulation. */
  class Interceptor implements InvocationInterceptor, TestInstancePreDestroyCallback {
    private static final Pattern NUMBER = Pattern.compile("#(\\d+)]$");
    private static final int FIRST_VERSION = 24;

    private @Nullable Simulation simulation;

    /** JUnit creates one for each annotation. */
    public Interceptor() {}

    @Override
    public ExtensionContextScope getTestInstantiationExtensionContextScope(
        ExtensionContext rootContext) {
      return ExtensionContextScope.TEST_METHOD;
    }

    @Override
    public <T> T interceptTestClassConstructor(
        Invocation<T> invocation,
        ReflectiveInvocationContext<Constructor<T>> constructor,
        ExtensionContext context)
        throws Throwable {
      if (Runtime.version().feature() >= FIRST_VERSION) {
        Matcher number = NUMBER.matcher(context.getUniqueId());
        long seed = number.find() ? Long.parseLong(number.group(1)) : 0;
        simulation = Simulation.begin(Long.getLong(Repetition.SEED, seed));
      }
      try {
        return run(invocation);
      } catch (Throwable t) {
        preDestroyTestInstance(context); // JUnit has no instance to destroy.
        throw t;
      }
    }

    @Override
    public void interceptBeforeEachMethod(
        Invocation<Void> invocation,
        ReflectiveInvocationContext<Method> method,
        ExtensionContext context)
        throws Throwable {
      run(invocation);
    }

    @Override
    public void interceptTestMethod(
        Invocation<Void> invocation,
        ReflectiveInvocationContext<Method> method,
        ExtensionContext context)
        throws Throwable {
      run(invocation);
    }

    @Override
    public void interceptTestTemplateMethod(
        Invocation<Void> invocation,
        ReflectiveInvocationContext<Method> method,
        ExtensionContext context)
        throws Throwable {
      run(invocation);
    }

    @Override
    public void interceptAfterEachMethod(
        Invocation<Void> invocation,
        ReflectiveInvocationContext<Method> method,
        ExtensionContext context)
        throws Throwable {
      run(invocation);
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private <T> T run(Invocation<T> invocation) throws Throwable {
      if (simulation == null) {
        return invocation.proceed();
      }
      T[] result = (T[]) new Object[1];
      simulation.part(
          () -> {
            try {
              result[0] = invocation.proceed();
            } catch (Exception | Error e) {
              throw e;
            } catch (Throwable t) {
              throw new AssertionError(t);
            }
          });
      return result[0];
    }

    @Override
    public void preDestroyTestInstance(ExtensionContext context) {
      if (simulation != null) {
        simulation.end();
      }
    }
  }
}
