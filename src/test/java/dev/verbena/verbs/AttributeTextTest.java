package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.VerbsException;
import dev.verbena.testing.DeviceTest;
import dev.verbena.values.QueuePairAttribute;
import dev.verbena.values.QueuePairType;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The text of what a query returns has the name and the value of each attribute. */
class AttributeTextTest {
  private static final Pattern QUERIED = Pattern.compile(".*(Attributes|Capabilities|Entry)");
  private static final Set<String> OTHER_METHODS = Set.of("toString", "hashCode", "mask");

  private final Set<Class<?>> seen = new HashSet<>();

  /** The types that queries of objects return; a record has its text from the compiler. */
  private static Set<Class<?>> queried() {
    return Stream.of(
            Device.class,
            Context.class,
            Port.class,
            ProtectionDomain.class,
            CompletionQueue.class,
            QueuePair.class,
            SharedReceiveQueue.class,
            WorkQueue.class)
        .flatMap(type -> Stream.of(type.getMethods()))
        .flatMap(method -> returned(method.getGenericReturnType()))
        .filter(type -> isQueried(type) && !type.isRecord())
        .collect(Collectors.toSet());
  }

  private static Stream<Class<?>> returned(Type type) {
    if (type instanceof ParameterizedType list) {
      return Stream.of(list.getActualTypeArguments()).flatMap(AttributeTextTest::returned);
    }
    return type instanceof Class<?> found ? Stream.of(found) : Stream.of();
  }

  private static boolean isQueried(Class<?> type) {
    return QUERIED.matcher(type.getSimpleName()).matches();
  }

  @DeviceTest
  void attributesPrintTheirValues() throws Exception {
    try (Pair pair = Pair.connected(QueuePairType.RC)) {
      Port port = pair.a.context.port(1);
      for (Object returned :
          List.of(
              pair.a.context.deviceAttributes(),
              port.attributes(),
              port.gidTable().getFirst(),
              pair.a.queuePair.query(),
              pair.a.queuePair.query(QueuePairAttribute.PORT),
              SharedReceiveQueue.create(pair.a.domain, 4).query())) {
        check(returned);
      }
      try {
        check(CompletionCounter.capabilities(pair.a.context));
      } catch (VerbsException e) { // Few devices have such counters.
        assertTrue(e.isUnsupported(), e::toString);
        seen.add(CompletionCounter.Capabilities.class);
      }
    }
    Set<Class<?>> missing = queried();
    missing.removeAll(seen);
    assertEquals(Set.of(), missing);
  }

  private void check(Object attributes) throws IllegalAccessException {
    seen.add(attributes.getClass());
    String text = attributes.toString();
    for (Method accessor : attributes.getClass().getDeclaredMethods()) {
      if (isAccessor(accessor)) {
        String name = accessor.getName() + "=";
        try {
          Object value = accessor.invoke(attributes);
          assertTrue(text.contains(name + value), () -> name + value + " in " + text);
          if (isQueried(value.getClass())) {
            check(value);
          }
        } catch (InvocationTargetException e) { // It is not in the mask of the attributes.
          assertInstanceOf(IllegalStateException.class, e.getCause());
          assertFalse(text.contains(name), text);
        }
      }
    }
  }

  /** Returns whether a method returns a value that the query returned, and not one of the host. */
  private static boolean isAccessor(Method method) {
    return Modifier.isPublic(method.getModifiers())
        && !Modifier.isStatic(method.getModifiers())
        && method.getParameterCount() == 0
        && method.getExceptionTypes().length == 0
        && method.getReturnType() != MemorySegment.class // The C struct that has them.
        && !OTHER_METHODS.contains(method.getName());
  }
}
