package dev.verbena.fuzz;

import static java.util.stream.Collectors.joining;
import static java.util.stream.Collectors.toCollection;

import dev.verbena.verbs.Completions;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.Resource;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.Field;
import java.lang.reflect.GenericArrayType;
import java.lang.reflect.Modifier;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import java.util.TreeSet;

/** The methods of the library that combine objects of a device. */
final class CombiningMethods {
  /** Of mlx5 alone, which has DC: DcTest calls them. */
  private static final Set<String> OF_MLX5 =
      Set.of(
          "PostingRequest.toTarget(AddressHandle, int, long)",
          "SendList.toTarget(int, AddressHandle, int, long)",
          "SendRequest.toTarget(AddressHandle, int, long)");

  /** These only tell whether two objects can be used together. */
  private static final Set<String> CHECKS =
      Set.of(
          "CompletionCursor.requireAtCompletion(ExtendedCompletionQueue)",
          "ProtectionDomain.isOneWith(ProtectionDomain)");

  private CombiningMethods() {}

  /**
   * The public methods, constructors and builders of which two objects belong to a device: the one
   * that the method is called on, and its arguments.
   */
  static Set<String> all() {
    return new Surface()
        .all().stream()
            .filter(
                executable -> {
                  long objects =
                      Arrays.stream(executable.getGenericParameterTypes())
                          .filter(CombiningMethods::isOfDevice)
                          .count();
                  boolean isCalledOnOne =
                      !(executable instanceof Constructor)
                          && !Modifier.isStatic(executable.getModifiers())
                          && isOfDevice(executable.getDeclaringClass());
                  return objects > 1 || (objects == 1 && isCalledOnOne);
                })
            .map(CombiningMethods::name)
            .filter(name -> !OF_MLX5.contains(name) && !CHECKS.contains(name))
            .collect(toCollection(TreeSet::new));
  }

  private static String name(Executable executable) {
    String type = Surface.name(executable.getDeclaringClass()).replace('$', '.');
    return type
        + (executable instanceof Constructor ? "" : "." + executable.getName())
        + Arrays.stream(executable.getParameterTypes())
            .map(Class::getSimpleName)
            .collect(joining(", ", "(", ")"));
  }

  /** A search for a resource in the fields of an object of a type, and of their types. */
  private static final class Search {
    /** Completions are memory of Java, which any queue fills. */
    private final Set<Class<?>> visited = new HashSet<>(Set.of(Completions.class));

    private boolean finds(Type type) {
      return switch (type) {
        case Class<?> c when c.isArray() -> finds(c.componentType());
        case Class<?> c -> findsIn(c);
        case ParameterizedType generic ->
            finds(generic.getRawType())
                || Arrays.stream(generic.getActualTypeArguments()).anyMatch(this::finds);
        case GenericArrayType array -> finds(array.getGenericComponentType());
        default -> false;
      };
    }

    private boolean findsIn(Class<?> type) {
      if (!type.getPackageName().matches("dev\\.verbena\\.(verbs|flow|util|cm|messages|packet)")) {
        return false;
      }
      return Resource.class.isAssignableFrom(type)
          || (type.isInterface() && type.isAssignableFrom(QueuePair.class))
          || (visited.add(type) && findsInFields(type));
    }

    private boolean findsInFields(Class<?> type) {
      return (type.getSuperclass() != null && finds(type.getSuperclass()))
          || Arrays.stream(type.getDeclaredFields())
              .filter(field -> !Modifier.isStatic(field.getModifiers()))
              .map(Field::getGenericType)
              .anyMatch(this::finds);
    }
  }

  /** Whether objects of a type belong to a device: it is a resource, or has one. */
  private static boolean isOfDevice(Type type) {
    return new Search().finds(type);
  }
}
