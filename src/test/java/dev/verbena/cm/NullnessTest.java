package dev.verbena.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.messages.Connection;
import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.NullMarked;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What Kotlin and nullness checkers see of RDMA CM. */
@Tag("host")
class NullnessTest {
  private static boolean returnsNullable(Class<?> type, String method, Class<?>... parameters)
      throws NoSuchMethodException {
    return isNullable(type.getMethod(method, parameters).getAnnotatedReturnType());
  }

  private static boolean isNullable(AnnotatedElement use) {
    return use.isAnnotationPresent(Nullable.class);
  }

  @Test
  void receiveAndPollAreNullable() throws NoSuchMethodException {
    assertTrue(Connection.class.getPackage().isAnnotationPresent(NullMarked.class));
    assertTrue(returnsNullable(Connection.class, "receive"));
    assertTrue(returnsNullable(Connection.class, "receive", Duration.class));
    assertTrue(returnsNullable(Listener.class, "poll"));
    assertTrue(returnsNullable(Listener.class, "poll", Duration.class));
    assertTrue(returnsNullable(EventChannel.class, "poll"));
    assertTrue(returnsNullable(EventChannel.class, "poll", Duration.class));
  }

  @Test
  void otherResultsOfConnectionAreNotNull() {
    List<String> nullable =
        Arrays.stream(Connection.class.getDeclaredMethods())
            .filter(method -> Modifier.isPublic(method.getModifiers()))
            .filter(method -> isNullable(method.getAnnotatedReturnType()))
            .map(Method::getName)
            .distinct()
            .toList();
    assertEquals(List.of("receive"), nullable);
  }
}
