package dev.verbena.testing;

import dev.verbena.soft.Simulation;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.lang.reflect.Method;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.InvocationInterceptor;
import org.junit.jupiter.api.extension.ReflectiveInvocationContext;

/**
 * Runs each test of a class in a {@link Simulation}: a test that waits for timeouts takes no time.
 * It must not use threads of the platform.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@ExtendWith(InSimulation.Interceptor.class)
public @interface InSimulation {
  /** Runs the method of a test as an actor. */
  class Interceptor implements InvocationInterceptor {
    @Override
    public void interceptTestMethod(
        Invocation<Void> test,
        ReflectiveInvocationContext<Method> method,
        ExtensionContext context) {
      run(test);
    }

    @Override
    public void interceptTestTemplateMethod(
        Invocation<Void> test,
        ReflectiveInvocationContext<Method> method,
        ExtensionContext context) {
      run(test);
    }

    private static void run(Invocation<Void> test) {
      Simulation.run(
          0,
          simulation -> {
            try {
              test.proceed();
            } catch (Exception | Error e) {
              throw e;
            } catch (Throwable t) {
              throw new AssertionError(t);
            }
          });
    }
  }
}
